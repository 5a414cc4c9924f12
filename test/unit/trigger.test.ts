/** The learned trigger (docs/algorithm.md section 9): the policy begins an action with `compact`. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { compactThreshold, defaultConfig, parseConfig, type RunConfig } from '../../src/core/config/config';
import { encode, special } from '../../src/core/tokenizer/tokenizer';
import { createTerminalPool } from '../../src/env/pool';
import type { DecodeJob, DecodeResult, PolicyEngine, UpdateBatch } from '../../src/model/engine';
import { decideAs, expert, type Player, setupOf } from '../../src/run/expert/expert';
import { packRollouts } from '../../src/run/learn/batch';
import { tinyContext } from '../../src/run/presets/presets';
import { pretrain } from '../../src/run/presets/pretrain';
import { type Recipe, recipes } from '../../src/run/presets/recipes';
import { Episode } from '../../src/run/rollout/episode';
import { type LockstepOptions, runLockstep } from '../../src/run/rollout/rollout';
import { drawTasks } from '../../src/run/rollout/tasks';
import { contextRules, episodeWith, word } from './episode-support';

const { bos, task: taskMark, act, eoc, sum, eos, resume, compact } = special;

const base = parseConfig({ keepTask: true, tailSteps: 0, maxCompactions: 2, window: 64, trigger: 'learned' });

/** Hands over draws as they are; log-probs and values tell them apart. Returns the job they were for. */
function draw(episode: Episode, ids: readonly number[]): DecodeJob {
  const job = episode.job(0);
  const number = (i: number) => job.index + i;
  const result: DecodeResult = {
    ids: Uint32Array.from(ids),
    logp: Float32Array.from(ids, (_, i) => -1 - number(i)),
    values: Float32Array.from(ids, (_, i) => number(i) / 64),
  };
  episode.accept(job, result);
  return job;
}
const print = (episode: Episode, output: string) => episode.observe({ output, exitCode: 0, exited: false });

const begin = [bos, taskMark, ...encode('follow acorn')];
const bell = encode('bell');
const beforeCompact = [...begin, act, word, eoc, ...bell];

describe('an action that is the compact token', () => {
  /** One step, then `compact` with two more tokens that decoding drew behind it. */
  const compacted = (config: RunConfig = base) => {
    const episode = episodeWith(config);
    draw(episode, [word, eoc]);
    print(episode, 'bell');
    draw(episode, [compact, word, eoc]);
    return episode;
  };

  test('closes its execution segment; the summary follows, then the rebuilt context', () => {
    const episode = compacted();
    expect(episode.need).toBe('summary');
    expect(episode.segments).toHaveLength(1);
    draw(episode, [200, eos]);
    expect(episode.need).toBe('action');
    const [execution, summary] = episode.segments;
    expect([execution!.kind, summary!.kind]).toEqual(['execution', 'summary']);
    expect([...execution!.ids]).toEqual([...beforeCompact, act, compact]);
    expect([...summary!.ids]).toEqual([...beforeCompact, act, compact, sum, 200, eos]);
    const n = begin.length;
    const places = (mask: Uint8Array) => [...mask.keys()].filter((i) => mask[i] === 1);
    expect(places(execution!.mask)).toEqual([n + 1, n + 2, n + 5]);
    expect(places(summary!.mask)).toEqual([n + 7, n + 8]);
    // Draws 0, 1 the command; 2 the token; 3, 4 discarded; 5, 6 the summary.
    expect(places(execution!.mask).map((i) => execution!.logp[i])).toEqual([-1, -2, -3]);
    expect(places(summary!.mask).map((i) => summary!.logp[i])).toEqual([-6, -7]);
    expect(places(summary!.mask).map((i) => summary!.values[i])).toEqual([5 / 64, 6 / 64]);
    expect(episode.initialContext()).toEqual([...begin, resume, 200]);
    expect(episode.compactions).toMatchObject([
      { tokensBefore: beforeCompact.length + 5, tokensAfter: begin.length + 2 },
    ]);
    expect(episode.steps).toHaveLength(1);
  });

  test('what was drawn behind it is overwritten in the cache, not counted as fed, and its random numbers are spent', () => {
    const episode = compacted();
    expect(episode.sampled).toBe(5);
    // The context to the second prompt, each token once: neither the token itself nor what came behind it.
    expect(episode.fedTokens).toBe(beforeCompact.length + 1);
    const job = draw(episode, [200, eos]);
    expect([job.start, [...job.feed], job.previous, job.index]).toEqual([
      beforeCompact.length + 1,
      [compact, sum],
      act,
      5,
    ]);
    expect([job.stop, job.cap]).toEqual([eos, base.summaryCap - 1]);
    expect(episode.fedTokens).toBe(beforeCompact.length + 1 + 3);
    expect(draw(episode, [word, eoc]).index).toBe(7);
  });

  test('it is no step: the verbatim tail copies the step before it', () => {
    const episode = compacted({ ...base, tailSteps: 2, window: 96 });
    draw(episode, [200, eos]);
    expect(episode.initialContext()).toEqual([...begin, resume, 200, act, word, eoc, ...bell]);
    expect(episode.steps.map((s) => s.segment)).toEqual([0]);
  });

  test('one forward row serves the execution and its summary', () => {
    const episode = compacted();
    draw(episode, [200, eos]);
    draw(episode, [word, eoc]);
    episode.observe({ output: '', exitCode: 0, exited: true });
    episode.verify(1);
    const rows = packRollouts([episode.result()]);
    expect([...rows.segmentRow]).toEqual([0, 0, 1, 2]);
    expect([...rows.kind]).toEqual([0, 1, 0]);
    expect([...rows.trainableStart]).toEqual([0, 3, 5, 7]);
    expect([...rows.trainable].map((i) => rows.ids[i])).toEqual([word, eoc, compact, 200, eos, word, eoc]);
    expect([...rows.oldLogp]).toEqual([-1, -2, -3, -6, -7, -8, -9]);
  });
});

describe('where it is allowed', () => {
  /** Whether `compact` compacts now; otherwise it has become a command. */
  const tries = (episode: Episode) => {
    const allowed = episode.mayCompact;
    draw(episode, [compact, eoc]);
    expect(episode.need).toBe(allowed ? 'summary' : 'terminal');
    return allowed;
  };
  const step = (episode: Episode) => {
    draw(episode, [word, eoc]);
    print(episode, 'bell');
  };

  test('not before the first step, not right after a resume, not after M compactions', () => {
    const episode = episodeWith({ ...base, turnSlack: 30 });
    for (let m = 0; m < base.maxCompactions; m++) {
      expect(tries(episode)).toBe(false);
      print(episode, 'bell');
      expect(tries(episode)).toBe(true);
      draw(episode, [eos]);
    }
    step(episode);
    expect(tries(episode)).toBe(false);
    expect(episode.compactions).toHaveLength(base.maxCompactions);
  });

  test('copied steps of the tail do not count as a step', () => {
    const episode = episodeWith({ ...base, tailSteps: 2, window: 96 });
    step(episode);
    expect(tries(episode)).toBe(true);
    draw(episode, [200, eos]);
    expect(episode.initialContext().slice(-bell.length)).toEqual([...bell]);
    expect(tries(episode)).toBe(false);
  });

  test.each([{ trigger: 'threshold' }, { compaction: 'none' }, { compaction: 'last-n' }] as const)(
    'never under %j: a wasted turn',
    (rules) => {
      const episode = episodeWith({ ...base, ...rules });
      step(episode);
      expect(tries(episode)).toBe(false);
      print(episode, '');
      expect(episode.steps).toHaveLength(2);
    },
  );

  test('only as the first token', () => {
    const episode = episodeWith(base);
    step(episode);
    draw(episode, [word, compact, eoc]);
    expect(episode.need).toBe('terminal');
  });

  test('the threshold compacts a policy that never asks, as without the key', () => {
    const play = (trigger: RunConfig['trigger']) => {
      const episode = episodeWith({ ...base, trigger, turnSlack: 2 });
      while (episode.need !== 'nothing')
        if (episode.need === 'summary') draw(episode, [200, eos]);
        else {
          draw(episode, [word, word, eoc]);
          print(episode, 'acorn acorn acorn acorn acorn acorn');
        }
      return episode.result();
    };
    const rollout = play('learned');
    expect(rollout.compactions.length).toBeGreaterThan(0);
    expect(rollout.compactions[0]!.tokensBefore).toBeGreaterThan(base.window - compactThreshold(base));
    expect(rollout).toEqual(play('threshold'));
  });
});

test('random players: every cached token is the context’s, no draw is used twice, and the budget holds', () => {
  const configs = fc
    .record({
      ...contextRules,
      turnSlack: fc.integer({ min: 0, max: 30 }),
    })
    .map((partial): RunConfig => ({ ...defaultConfig, ...partial, trigger: 'learned' }))
    .filter((config) => config.window >= compactThreshold(config) + 8);
  let asked = 0;
  fc.assert(
    fc.property(configs, fc.infiniteStream(fc.nat({ max: 255 })), (config, tokens) => {
      const next = () => tokens.next().value as number;
      const episode = episodeWith(config);
      let context = episode.initialContext();
      episode.onTokens = (kind, ids) => {
        context = kind === 'context' && ids[0] === bos ? [...ids] : [...context, ...ids];
      };
      const cache: number[] = [];
      const kept: number[] = [];
      let drawn = 0;
      while (episode.need !== 'nothing') {
        const { need, mayCompact } = episode;
        const job = episode.job(0);
        expect(context.length + job.cap + 1).toBeLessThanOrEqual(config.window);
        // What the engine attends to: the cache up to the start, then what it is fed.
        expect([...cache.slice(0, job.start), ...job.feed]).toEqual(context);
        expect(job.previous).toBe(job.start > 0 ? context[job.start - 1] : 0);
        expect(job.index).toBe(drawn);
        const content = Array.from({ length: next() % 14 }, next).filter((id) => id !== job.stop);
        if (next() % 3 === 0) content.unshift(compact);
        const ids = [...content, job.stop].slice(0, job.cap);
        [...job.feed, ...ids.slice(0, -1)].forEach((id, i) => {
          cache[job.start + i] = id;
        });
        drawn += ids.length;
        const asks = mayCompact && ids[0] === compact;
        kept.push(...(asks ? [compact] : ids));
        episode.accept(job, { ids: Uint32Array.from(ids), logp: new Float32Array(20), values: new Float32Array(20) });
        if (asks) {
          asked++;
          expect(episode.need).toBe('summary');
        } else if (need === 'action') print(episode, 'acorn '.repeat(next() % 40));
      }
      const { segments, compactions, steps, turnLimit } = episode.result();
      expect(compactions.length).toBeLessThanOrEqual(config.maxCompactions);
      expect(steps.length).toBeLessThanOrEqual(turnLimit);
      expect(segments.flatMap((s) => [...s.ids].filter((_, i) => s.mask[i] === 1))).toEqual(kept);
      segments.forEach((s, i) => {
        expect(s.kind).toBe(i % 2 === 0 ? 'execution' : 'summary');
      });
    }),
    { numRuns: 200 },
  );
  expect(asked).toBeGreaterThan(100);
});

describe('scripted players in real shells', () => {
  const pool = createTerminalPool({ workers: 0 });
  afterAll(() => pool.close());
  const config = parseConfig({ ...tinyContext, trigger: 'learned' });

  const play = (options: Partial<LockstepOptions> = {}) => {
    const asked = new Map<number, number>();
    const player: Player = {
      ...expert,
      compacts: (n) => {
        asked.set(n, (asked.get(n) ?? 0) + 1);
        return (n + asked.get(n)!) % 3 === 0;
      },
    };
    const episodes = drawTasks(config, 5, 'train', 0, 13).map((t) => new Episode(setupOf(t, t.index, config)));
    return runLockstep(episodes, { pool, gate: async () => {}, decide: decideAs(player), ...options });
  };

  test('groups and seats change nothing, and a perfect summary loses nothing', async () => {
    const plain = await play();
    const ends = plain.flatMap((r) => r.segments.filter((s) => s.kind === 'execution').map((s) => s.ids.at(-1)));
    expect(ends.filter((id) => id === compact).length).toBeGreaterThan(5);
    expect(plain.every((r) => r.solved)).toBe(true);
    expect(await play({ groups: 3, seats: 5 })).toEqual(plain);
    expect(await play({ seats: 1 })).toEqual(plain);
  });

  /** Sampled tokens of the demonstrations of one step. */
  async function demonstrated(recipe: Recipe) {
    const batches: UpdateBatch[] = [];
    const engine: Partial<PolicyEngine> = {
      update: async (_, batch) => {
        batches.push(batch);
        return { policyLoss: 0 } as Awaited<ReturnType<PolicyEngine['update']>>;
      },
    };
    await pretrain({
      engine: engine as PolicyEngine,
      pool,
      recipe: { ...recipe, steps: 1, demonstrations: 32, corpus: 32 },
      seed: 3,
      gate: async () => {},
      onStep: () => {},
    });
    return batches.flatMap(({ ids, trainable }) => [...trainable].map((i) => ids[i]!));
  }

  test('demonstrations: the share of compactions the recipe names; none, and the same tokens, at 0', async () => {
    const count = (ids: readonly number[], id: number) => ids.filter((i) => i === id).length;
    const known = await demonstrated(recipes['code-trigger']);
    expect(known).toEqual(await demonstrated(recipes['code-trigger']));
    // Of all actions fewer than one in ten: not before a context's first step. 32 rollouts: within a factor of three.
    const share = count(known, compact) / (count(known, eoc) + count(known, compact));
    expect(share).toBeGreaterThan(0.03);
    expect(share).toBeLessThan(0.1);
    const { compactShare, ...without } = recipes['code-trigger'];
    expect(compactShare).toBe(0.1);
    const plain = await demonstrated(without);
    expect(count(plain, compact)).toBe(0);
    expect(plain).toEqual(await demonstrated(recipes['code-small']));
  });
});
