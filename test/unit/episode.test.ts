import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compactThreshold, defaultConfig, parseConfig, type RunConfig } from '../../src/core/config/config';
import { decodeCommand, encode, special } from '../../src/core/tokenizer/tokenizer';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import type { TaskTracker } from '../../src/env/task';
import { Episode } from '../../src/run/rollout/episode';
import { contextRules, episodeWith, sampled, silentTracker, task, word } from './episode-support';

const base: RunConfig = parseConfig({ keepTask: true, tailSteps: 0, maxCompactions: 16, window: 64 });

/** Plays one wave: action and observation, or summary. */
function wave(episode: Episode, content: readonly number[], output: string): void {
  const action = episode.need === 'action';
  const job = episode.job(0);
  episode.accept(job, sampled(job, content));
  if (action) episode.observe({ output, exitCode: 0, exited: false });
}

function trained(rollout: Rollout): number[] {
  return rollout.segments.flatMap((s) => [...s.ids].filter((_, i) => s.mask[i] === 1));
}

describe('context budget', () => {
  test('compacts after a complete step when less than the threshold is left, not before', () => {
    const episode = episodeWith(base);
    const left: number[] = [];
    while (episode.need === 'action') {
      left.push(base.window - episode.contextTokens);
      wave(episode, [word, word], 'acorn acorn acorn acorn acorn acorn');
    }
    expect(episode.need).toBe('summary');
    const threshold = compactThreshold(base);
    expect(left.every((l) => l >= threshold)).toBe(true);
    expect(base.window - episode.contextTokens).toBeLessThan(threshold);
  });

  test('no context, action, observation or summary ever overflows the window (random play, any valid configuration)', () => {
    const configs = fc
      .record({
        ...contextRules,
        turnSlack: fc.integer({ min: 0, max: 30 }),
        compaction: fc.constantFrom('summary', 'last-n', 'oracle'),
      })
      .map((partial) => ({ ...defaultConfig, ...partial }))
      .filter((config) => config.window >= compactThreshold(config) + 8);
    fc.assert(
      fc.property(configs, fc.infiniteStream(fc.nat({ max: 255 })), (config, tokens) => {
        const next = () => tokens.next().value as number;
        const episode = episodeWith(config);
        for (let guard = 0; episode.need !== 'nothing' && guard < 300; guard++) {
          const summary = episode.need === 'summary';
          const content = Array.from({ length: next() % 30 }, next).filter(
            (t) => t !== special.eoc && t !== special.eos,
          );
          wave(episode, content, 'acorn '.repeat(next() % 40));
          if (!summary) expect(episode.contextTokens).toBeLessThanOrEqual(config.window);
        }
        const rollout = episode.result();
        expect(rollout.compactions.length).toBeLessThanOrEqual(config.maxCompactions);
        for (const segment of rollout.segments) {
          expect(segment.ids.length).toBeLessThanOrEqual(config.window);
          expect(segment.mask[0]).toBe(0);
          expect(segment.mask.includes(1)).toBe(true);
        }
        // Alternating kinds, beginning with execution; only execution where nothing is written.
        const alternates = config.compaction === 'summary';
        rollout.segments.forEach((s, i) => {
          expect(s.kind).toBe(i % 2 === 0 || !alternates ? 'execution' : 'summary');
        });
      }),
      { numRuns: 300 },
    );
  });

  test('stops before sampling when an action and its observation might not fit', () => {
    const episode = episodeWith(parseConfig({ compaction: 'none', window: 64 }));
    while (episode.need === 'action') wave(episode, [word], 'acorn acorn acorn acorn acorn acorn acorn acorn');
    expect(episode.stop).toBe('window-full');
    expect(episode.reward).toBe(0);
    expect(episode.result().segments).toHaveLength(1);
  });

  test('a summary that leaves no room ends the rollout on the summary row', () => {
    const config: RunConfig = { ...base, compactThreshold: 56 };
    const episode = episodeWith(config);
    while (episode.need === 'action') wave(episode, [word], 'acorn acorn acorn');
    wave(episode, Array(8).fill(word), '');
    expect(episode.stop).toBe('resume-too-long');
    const { segments } = episode.result();
    expect(segments[segments.length - 1]!.kind).toBe('summary');
  });
});

describe('masks', () => {
  test('every sampled token is trained exactly once, copied text never', () => {
    const episode = episodeWith({ ...base, tailSteps: 2, window: 96 });
    const all: number[] = [];
    let token = 130;
    for (let i = 0; i < 20 && episode.need !== 'nothing'; i++) {
      const job = episode.job(0);
      const action = episode.need === 'action';
      const result = sampled(job, [token++, token++]);
      all.push(...result.ids);
      episode.accept(job, result);
      if (action) episode.observe({ output: 'acorn acorn acorn acorn acorn acorn', exitCode: 0, exited: false });
    }
    expect(episode.stop).toBe('turn-limit');
    expect(episode.compactions.length).toBeGreaterThan(0);
    expect(trained(episode.result())).toEqual(all);
  });

  test('a command that reaches its cap gets its stop token with mask 0', () => {
    const episode = episodeWith(base);
    const job = episode.job(0);
    episode.accept(job, sampled(job, Array(20).fill(word)));
    episode.observe({ output: '', exitCode: 0, exited: true });
    episode.verify(0);
    const segment = episode.result().segments[0]!;
    const end = segment.ids.length - 1;
    expect(segment.ids[end]).toBe(special.eoc);
    expect(segment.mask[end]).toBe(0);
    expect(segment.mask.reduce((n, m) => n + m, 0)).toBe(base.actionCap - 1);
  });

  test('a summary row trains the summary alone and reads the whole context before it', () => {
    const episode = episodeWith(base);
    while (episode.need === 'action') wave(episode, [word, word], 'acorn acorn acorn acorn acorn acorn');
    const context = episode.contextTokens;
    wave(episode, [word, word + 1], '');
    const [execution, summary] = [episode.segments[0]!, episode.segments[1]!];
    expect([...summary.ids.subarray(0, context)]).toEqual([...execution.ids]);
    expect(summary.ids[context]).toBe(special.sum);
    expect([...summary.mask.keys()].filter((i) => summary.mask[i] === 1)).toEqual([
      context + 1,
      context + 2,
      context + 3,
    ]);
  });
});

describe('resume', () => {
  const compactOnce = (config: RunConfig) => {
    const episode = episodeWith(config);
    while (episode.need === 'action') wave(episode, [word, word], 'acorn acorn acorn acorn acorn acorn');
    wave(episode, [200, 201], '');
    return episode;
  };

  test('the task text comes again only with keepTask', () => {
    expect([...compactOnce(base).initialContext()]).toContain(special.task);
    const without = compactOnce({ ...base, keepTask: false }).initialContext();
    expect(without).toEqual([special.bos, special.resume, 200, 201]);
  });

  test('the verbatim tail is copied, and lowered until the reserve fits', () => {
    const roomy = compactOnce({ ...base, keepTask: false, tailSteps: 1, window: 96 });
    expect(roomy.initialContext().slice(4)[0]).toBe(special.act);
    const tight = compactOnce({ ...base, keepTask: false, tailSteps: 16, window: 64 });
    expect(base.window - tight.contextTokens).toBeGreaterThanOrEqual(compactThreshold(base));
  });
});

describe('what is not written', () => {
  /** Plays two-word steps until a compaction; the contexts before and after it. */
  function compacted(compaction: 'last-n' | 'oracle', facts: readonly string[]) {
    const told: string[] = [];
    const tracker: TaskTracker = { ...silentTracker, facts: () => [...facts], resume: (text) => void told.push(text) };
    const config = parseConfig({ ...base, compaction, summaryCap: 6 });
    const setup = episodeWith(config).setup;
    const episode = new Episode({ ...setup, tracker });
    let before: number[] = [];
    while (episode.compactions.length === 0) {
      expect(episode.need).toBe('action');
      before = episode.initialContext();
      const job = episode.job(0);
      before = [...before, ...job.feed];
      episode.accept(job, sampled(job, [word, word + 1]));
      episode.observe({ output: 'acorn bell boat', exitCode: 0, exited: false });
    }
    return { episode, told, after: episode.initialContext() };
  }

  test('last-n: the last tokens of the old context stand where the summary would', () => {
    const { episode, after, told } = compacted('last-n', []);
    // The end of the last step, by hand: the second word, the stop token, what was printed.
    expect(after).toEqual([
      special.bos,
      special.task,
      ...encode('follow acorn'),
      special.resume,
      word + 1,
      special.eoc,
      ...encode('acorn bell boat'),
    ]);
    expect(told).toEqual([decodeCommand(after.slice(-5))]);
    expect(episode.need).toBe('action');
    expect(episode.segments.map((s) => s.kind)).toEqual(['execution']);
  });

  test('last-n copies no verbatim tail: its steps stand there already', () => {
    const config = parseConfig({ ...base, compaction: 'last-n', tailSteps: 2, summaryCap: 6 });
    const episode = episodeWith(config);
    while (episode.need === 'action' && episode.compactions.length === 0)
      wave(episode, [word, word + 1], 'acorn bell boat');
    expect(episode.compactions).toHaveLength(1);
    expect(episode.initialContext()).toHaveLength(1 + 1 + encode('follow acorn').length + 1 + 5);
  });

  test('oracle: the facts in order, cut at the cap, and counted as kept', () => {
    const { episode, after } = compacted('oracle', ['code lead', 'next tent', 'end cyan']);
    expect(after.slice(-6)).toEqual([special.resume, ...encode('code lead next tent end')]);
    expect(episode.compactions[0]).toMatchObject({ summary: 'code lead next tent end', factsNeeded: 3, factsKept: 3 });
  });

  test('the token budget of steps goes on as ever, and rewards come at the end', () => {
    const { episode } = compacted('oracle', ['code lead']);
    while (episode.need === 'action') wave(episode, [word], 'acorn');
    expect(episode.stop).toBe('turn-limit');
    expect(episode.segments.every((s) => s.kind === 'execution')).toBe(true);
    expect(trained(episode.result()).length).toBe(episode.sampled);
  });
});

describe('order after a step: limits, exit, turn limit, trigger', () => {
  test('a command limit ends the rollout without reward', () => {
    const episode = episodeWith(base);
    const job = episode.job(0);
    episode.accept(job, sampled(job, [word]));
    episode.observe({ output: '', exitCode: 1, exited: true, limit: 'loops' });
    expect([episode.stop, episode.reward]).toEqual(['command-limit', 0]);
  });

  test('an exit in the last turn is verified', () => {
    const episode = episodeWith({ ...base, turnSlack: 0, window: 1000 });
    for (let i = 1; i < task.minTurns; i++) wave(episode, [word], '');
    const job = episode.job(0);
    episode.accept(job, sampled(job, [word]));
    episode.observe({ output: '', exitCode: 0, exited: true });
    expect(episode.need).toBe('verify');
    episode.verify(1);
    expect([episode.stop, episode.reward]).toEqual(['solved', 1]);
  });

  test('the turn limit comes before the trigger', () => {
    const episode = episodeWith({ ...base, turnSlack: 0, window: 1000, compactThreshold: 980 });
    for (let i = 0; i < 50 && episode.need !== 'nothing'; i++) wave(episode, [word], '');
    expect(episode.stop).toBe('turn-limit');
    expect(episode.segments[episode.segments.length - 1]!.kind).toBe('execution');
  });

  test('a fractional reward is an option; success stays all or nothing', () => {
    const play = (fractionalReward: boolean) => {
      const episode = episodeWith({ ...base, fractionalReward });
      const job = episode.job(0);
      episode.accept(job, sampled(job, [word]));
      episode.observe({ output: '', exitCode: 0, exited: true });
      episode.verify(0.5);
      return [episode.stop, episode.reward, episode.solved];
    };
    expect(play(false)).toEqual(['failed', 0, false]);
    expect(play(true)).toEqual(['failed', 0.5, false]);
  });
});

test('the random index counts sampled tokens, so a draw belongs to a token whatever the batch', () => {
  const episode = episodeWith(base);
  const first = episode.job(0);
  expect(first.index).toBe(0);
  episode.accept(first, sampled(first, [word, word]));
  episode.observe({ output: '', exitCode: 0, exited: false });
  const second = episode.job(0);
  expect(second.index).toBe(3);
  expect(second.stream).toBe(7);
  // The cache holds everything but the last sampled token, which is fed now.
  expect(second.start).toBe(first.start + first.feed.length + 2);
  expect(second.feed[0]).toBe(special.eoc);
});

test('env tokens are what the contexts grow by: a writer that reads a context again costs no more than one that goes on', () => {
  const play = (separateWriter: boolean) => {
    const episode = episodeWith(base);
    for (let turn = 0; turn < 50 && episode.compactions.length === 0; turn++) {
      const summary = episode.need === 'summary';
      const job = episode.job(0, summary && separateWriter);
      if (summary) expect(job.start === 0).toBe(separateWriter);
      episode.accept(job, sampled(job, [word, word]));
      if (!summary) episode.observe({ output: 'acorn acorn acorn', exitCode: 0, exited: false });
    }
    expect(episode.compactions).toHaveLength(1);
    return episode.fedTokens;
  };
  expect(play(true)).toBe(play(false));
});
