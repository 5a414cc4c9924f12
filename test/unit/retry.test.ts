/** Several attempts at a task, with and without a note, on hand-made episodes and with scripted players in real shells. */
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { computeAdvantages } from '../../src/core/algorithm/advantages';
import { compactThreshold, defaultConfig, parseConfig, type RunConfig } from '../../src/core/config/config';
import { evalSummary } from '../../src/core/metrics/metrics';
import { encode, special } from '../../src/core/tokenizer/tokenizer';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import { parseRolloutLine, rolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import { createTerminalPool } from '../../src/env/pool';
import type { DecodeJob } from '../../src/model/engine';
import { decideAs, expert, type Player, setupOf } from '../../src/run/expert/expert';
import { advantageBatch, packRollouts } from '../../src/run/learn/batch';
import { tinyContext } from '../../src/run/presets/presets';
import { Episode } from '../../src/run/rollout/episode';
import { firstAttempt, nextAttempt } from '../../src/run/rollout/retry';
import { type LockstepOptions, runLockstep } from '../../src/run/rollout/rollout';
import { drawTasks } from '../../src/run/rollout/tasks';
import { packRollouts as chunksOf, unpackRollouts } from '../../src/store/rollout-chunk';
import { contextRules, sampled, word } from './episode-support';

const base = parseConfig({ ...tinyContext, attempts: 3 });
const [task] = drawTasks(base, 5, 'train', 0, 1);

const beginning = (config: RunConfig, number = 4) => new Episode(firstAttempt(setupOf(task!, number, config)));
const start = [special.bos, special.task, ...encode(task!.instruction)];

/** Samples an action or a summary. */
function say(episode: Episode, content: readonly number[]): DecodeJob {
  const job = episode.job(0);
  episode.accept(job, sampled(job, content));
  return job;
}
function act(episode: Episode, content: readonly number[], output: string): void {
  say(episode, content);
  episode.observe({ output, exitCode: 0, exited: false });
}
function exit(episode: Episode, share: number): void {
  say(episode, [word]);
  episode.observe({ output: '', exitCode: 0, exited: true });
  episode.verify(share);
}

describe('a note between two attempts', () => {
  const failed = beginning(base);
  act(failed, [word, word], 'acorn');
  exit(failed, 0);
  const action = [special.act, word, word, special.eoc, ...encode('acorn'), special.act, word, special.eoc];
  const last = [...start, ...action];

  test('is asked for after the last context, of which only the last token is not cached', () => {
    const next = nextAttempt(failed)!;
    expect(next.need).toBe('summary');
    const job = next.job(0);
    expect([...job.feed]).toEqual([special.eoc, special.sum]);
    expect(job).toMatchObject({ start: last.length - 1, previous: word, stop: special.eos, cap: base.summaryCap - 1 });
    expect(job).toMatchObject({ stream: 4 * 3 + 1, index: 0 });
    // A writer that has not read the context gets all of it.
    expect([...nextAttempt(failed)!.job(0, true).feed]).toEqual([...last, special.sum]);
  });

  test('is the first row of the attempt that reads it; its own tokens alone are trained', () => {
    const next = nextAttempt(failed)!;
    say(next, [word + 1, word + 2]);
    expect(next.need).toBe('action');
    expect(next.initialContext()).toEqual([...start, special.resume, word + 1, word + 2]);
    exit(next, 1);
    const rollout = next.result();
    expect(rollout).toMatchObject({ id: 13, attempt: 2, solved: true, reward: 1, compactions: [] });
    expect(rollout.steps.map((step) => step.segment)).toEqual([1]);
    const [note, execution] = rollout.segments;
    expect(rollout.segments.map((s) => s.kind)).toEqual(['summary', 'execution']);
    expect([...note!.ids]).toEqual([...last, special.sum, word + 1, word + 2, special.eos]);
    expect([...note!.mask]).toEqual([...last.map(() => 0), 0, 1, 1, 1]);
    expect(note!.contextLength).toBe(last.length + 1);
    const again = [...start, special.resume, word + 1, word + 2];
    expect([...execution!.ids]).toEqual([...again, special.act, word, special.eoc]);
    expect([...execution!.mask]).toEqual([...again.map(() => 0), 0, 1, 1]);
    // Two fed before the note and two of its three tokens; then the new context and one of two.
    expect(rollout.fedTokens).toBe(2 + 2 + again.length + 1 + 1);
    expect(failed.result()).toMatchObject({ id: 12, attempt: 1, reward: 0 });
  });

  test('is reached by the reward of that attempt across the row’s end (Eq. 14), and by no other', () => {
    const next = nextAttempt(failed)!;
    say(next, [word + 1, word + 2]);
    exit(next, 1);
    const rows = packRollouts([failed.result(), next.result()]);
    const lambda = new Float64Array(rows.trainableStart.length - 1).fill(0.5);
    const batch = advantageBatch(rows, new Float32Array(rows.trainable.length), Float32Array.from([0, 1]), lambda);
    const { advantages } = computeAdvantages(batch, { mode: 'paper', gamma: 1, valueTarget: 'local' });
    // Two actions of three and two tokens earn nothing. The note's three tokens stand 4, 3 and 2 before the last one.
    expect([...advantages]).toEqual([0, 0, 0, 0, 0, 0.5 ** 4, 0.5 ** 3, 0.5 ** 2, 0.5, 1]);
  });

  test('is cut at the summary cap: the stop token is then appended, not sampled', () => {
    const next = nextAttempt(failed)!;
    say(next, Array(40).fill(word));
    exit(next, 0);
    const [note] = next.result().segments;
    expect([...note!.ids.slice(last.length)]).toEqual([
      special.sum,
      ...Array(base.summaryCap - 1).fill(word),
      special.eos,
    ]);
    expect(note!.mask[note!.mask.length - 1]).toBe(0);
  });

  test('is not written under `none`: the next attempt begins like the first', () => {
    const control: RunConfig = { ...base, retryNote: 'none' };
    const first = beginning(control);
    exit(first, 0);
    const next = nextAttempt(first)!;
    expect(next.need).toBe('action');
    expect(next.initialContext()).toEqual(start);
    exit(next, 0);
    expect(next.result().segments.map((s) => s.kind)).toEqual(['execution']);
    expect(nextAttempt(next)!.setup).toMatchObject({ id: 14, attempt: 3 });
  });

  test('stands alone before the third attempt: the second note is written after what the first one led to', () => {
    const second = nextAttempt(failed)!;
    say(second, [word + 1]);
    exit(second, 0);
    const third = nextAttempt(second)!;
    say(third, [word + 2]);
    expect(third.initialContext()).toEqual([...start, special.resume, word + 2]);
    exit(third, 0);
    const [note] = third.result().segments;
    expect([...note!.ids]).toEqual([...second.result().segments[1]!.ids, special.sum, word + 2, special.eos]);
    expect(nextAttempt(third)).toBeUndefined();
  });
});

describe('the note and the window', () => {
  // One window without compaction: the context may fill it but for less than a step.
  const tight = parseConfig({ ...tinyContext, attempts: 2, compaction: 'none', window: 64, turnSlack: 40 });
  test('the oldest steps make room for the request and the note; what is left is read again', () => {
    const first = beginning(tight);
    let round = 0;
    while (first.need === 'action') act(first, [word + round++, word], 'acorn '.repeat(13).trim());
    expect(first.stop).toBe('window-full');
    const all = [...first.result().segments[0]!.ids];
    expect(all.length).toBeGreaterThan(tight.window - 1 - tight.summaryCap);
    const step = (all.length - start.length) / round;
    const next = nextAttempt(first)!;
    const job = say(next, [word]);
    expect(job.start).toBe(0);
    expect([...job.feed]).toEqual([...start, ...all.slice(start.length + step), special.sum]);
  });

  test('a note that leaves less than the reserve ends the attempt as a summary would', () => {
    const config: RunConfig = { ...base, compactThreshold: base.window - start.length - 4 };
    const first = beginning(config);
    exit(first, 0);
    const next = nextAttempt(first)!;
    say(next, [word, word, word, word]);
    expect(next.stop).toBe('resume-too-long');
    expect(next.result().segments.map((s) => s.kind)).toEqual(['summary']);
    expect(next.result().reward).toBe(0);
    // Its row ends with the note; the next note is written after that.
    const third = nextAttempt(next)!;
    const { feed } = say(third, [word]);
    expect([...feed]).toEqual([special.eos, special.sum]);
    expect(third.need).toBe('action');
  });

  test('without room for it even after the task alone, the attempt begins without a note', () => {
    const config: RunConfig = { ...tight, window: start.length + tight.summaryCap };
    const next = nextAttempt(beginning(config))!;
    expect(next.stop).toBe('window-full');
    expect(next.result().segments).toEqual([]);
  });

  test('no row overflows the window, and notes stand first alone (random play, any valid configuration)', () => {
    const configs = fc
      .record({
        ...contextRules,
        window: fc.integer({ min: 24, max: 120 }),
        maxCompactions: fc.integer({ min: 0, max: 3 }),
        compaction: fc.constantFrom('summary' as const, 'none' as const),
        attempts: fc.integer({ min: 2, max: 4 }),
      })
      .map((partial) => ({ ...defaultConfig, ...partial }))
      .filter((config) => config.window >= compactThreshold(config) + 8);
    fc.assert(
      fc.property(configs, fc.infiniteStream(fc.nat({ max: 255 })), (config, tokens) => {
        const next = () => tokens.next().value as number;
        let made = 0;
        // Whether the attempt before left room for a request and a note behind what its context began with.
        let room = false;
        for (let episode: Episode | undefined = beginning(config); episode; episode = nextAttempt(episode)) {
          made++;
          const noted = episode.need === 'summary';
          while (episode.need !== 'nothing') {
            const job = say(
              episode,
              Array.from({ length: next() % 30 }, next).filter((t) => t !== special.eoc && t !== special.eos),
            );
            expect(job.start + job.feed.length + job.cap + 1).toBeLessThanOrEqual(config.window + 1);
            if (episode.need !== 'terminal') continue;
            episode.observe({ output: 'acorn '.repeat(next() % 40), exitCode: 0, exited: next() % 5 === 0 });
            if ((episode.need as string) === 'verify') episode.verify(0);
          }
          const { segments, attempt } = episode.result();
          expect(attempt).toBe(made);
          if (made === 1) expect(noted).toBe(false);
          else if (room) expect(noted).toBe(true);
          room = episode.initialContext().length + 1 + config.summaryCap <= config.window;
          for (const { ids } of segments) expect(ids.length).toBeLessThanOrEqual(config.window);
          const kinds = segments.map((s) => s.kind);
          const expected = noted ? ['summary', 'execution'] : ['execution', 'summary'];
          expect(kinds).toEqual(kinds.map((_, i) => expected[i % 2]));
        }
        expect(made).toBe(config.attempts);
      }),
      { numRuns: 200 },
    );
  });
});

describe('attempts in flight', () => {
  const pool = createTerminalPool({ workers: 0 });
  afterAll(() => pool.close());
  /** Gives up at some first and second attempts, after having spoilt the files. */
  const fickle: Player = {
    act: (episode, n) => {
      const { attempt = 1 } = episode.setup;
      if (attempt > n % 4) return expert.act(episode, n);
      return episode.steps.length === 0 ? 'echo spoilt > out' : 'exit';
    },
    summarise: expert.summarise,
  };
  const play = (config: RunConfig, options: Partial<LockstepOptions> = {}) =>
    runLockstep(
      drawTasks(config, 5, 'train', 0, 10).map((t, i) => new Episode(firstAttempt(setupOf(t, i, config)))),
      { pool, gate: async () => {}, decide: decideAs(fickle), follow: nextAttempt, ...options },
    );

  test('a task is tried until it is solved, in a fresh terminal; the attempts lie one behind the other', async () => {
    const rollouts = await play(base);
    const attempts = Array.from({ length: 10 }, (_, n) => Math.min(3, 1 + (n % 4)));
    expect(rollouts.map((r) => [r.id, r.taskIndex, r.attempt])).toEqual(
      attempts.flatMap((most, n) => Array.from({ length: most }, (_, a) => [3 * n + a, n, a + 1])),
    );
    expect(rollouts.filter((r) => r.solved).map((r) => r.taskIndex)).toEqual([0, 1, 2, 4, 5, 6, 8, 9]);
  });

  test.each([{ groups: 3 }, { groups: 2, seats: 4 }, { seats: 1 }, { groups: 50 }])(
    '%j: the same rollouts in the same order',
    async (options) => {
      expect(await play(base, options)).toEqual(await play(base));
    },
  );

  test('progress counts tasks, and a task that is tried again is not done', async () => {
    const seen: number[] = [];
    const rollouts = await play(base, { seats: 1, onWave: (share) => seen.push(share) });
    const second = rollouts.filter((r) => r.taskIndex === 1);
    expect(second).toHaveLength(2);
    // A wave for each command and each summary, the note included.
    const waves = second.reduce(
      (n, r) => n + r.steps.length + r.segments.filter((s) => s.kind === 'summary').length,
      0,
    );
    expect(seen.filter((share) => share === 0.1)).toHaveLength(waves);
    expect(seen[seen.length - 1]).toBe(1);
  });

  test('with one attempt nothing is different, whatever is said about notes', async () => {
    const once = parseConfig({ ...tinyContext });
    const plain = await play(once, { follow: undefined });
    expect(plain.some((r) => !r.solved)).toBe(true);
    expect(plain.every((r) => !('attempt' in r))).toBe(true);
    expect(plain.map((r) => r.id)).toEqual(Array.from({ length: 10 }, (_, n) => n));
    expect(await play(once)).toEqual(plain);
    expect(await play({ ...once, retryNote: 'none' })).toEqual(plain);
  });

  test('an evaluation counts tasks, says how many the first attempt solved, and takes its means over attempts', async () => {
    const rollouts = (await play(base)).map((r) => ({ ...r, compactionsRequired: r.taskIndex % 2 }));
    const summary = evalSummary(rollouts);
    expect(summary).toMatchObject({
      success: 0.8,
      episodes: 10,
      firstAttempt: 0.3,
      byCompactions: [
        { solved: 5, episodes: 5 },
        { solved: 3, episodes: 5 },
      ],
      successNeedingCompaction: 0.6,
    });
    expect(summary.meanTurns).toBeCloseTo(rollouts.reduce((n, r) => n + r.steps.length, 0) / rollouts.length, 12);
  });

  test('the number of the attempt is kept in lines and in the store', async () => {
    const rollouts = await play(base);
    const lines = rollouts.map((r) => parseRolloutLine(rolloutLine(r)));
    expect(lines).toEqual(rollouts);
    const stored = chunksOf(rollouts).flatMap((chunk): Rollout[] => unpackRollouts(chunk));
    expect(stored.map((r) => r.attempt)).toEqual(rollouts.map((r) => r.attempt));
    expect(() => parseRolloutLine(rolloutLine({ ...rollouts[0]!, attempt: 0 }))).toThrow(/attempt/);
  });
});

test('the outcome advantage refuses several attempts', () => {
  const config = { ...tinyContext, advantage: 'outcome', groupSize: 8, episodes: 64 };
  expect(parseConfig(config).attempts).toBe(1);
  expect(() => parseConfig({ ...config, attempts: 2 })).toThrow(/outcome/);
});
