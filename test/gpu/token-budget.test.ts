/** Runs that end with their env tokens, the window of training, and who writes an evaluation's summaries, on real kernels. */
import { afterAll, describe, expect, test } from 'vitest';
import { type PartialConfig, parseConfig } from '../../src/core/config/config';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer/tokenizer';
import { createTerminalPool } from '../../src/env/pool';
import { initialParameters } from '../../src/model/initialise';
import { shapeOf } from '../../src/run/presets/pretrain';
import { createEngine } from '../../src/run/session/session';
import { evaluateRollouts } from '../../src/run/trainer/evaluate';
import { play, stir, timeless, toy } from './trainer-support';
import { testContext } from './transformer-support';

afterAll(async () => (await testContext()).dispose());

describe('token budget', () => {
  const settings: PartialConfig = { iterations: 6, evalEvery: 0, learningRateEnd: 0 };

  test('ends with the iteration that reaches it, decays with what is spent, and evaluates at its end alone', async () => {
    const plain = (await play({ ...settings, iterations: 3 })).sink.records;
    // Reached by the second iteration, if the policy is still the first one's: its first update has nothing to learn.
    const envTokenBudget = plain[0]!.envTokens + 1;
    const { sink, events } = await play({ ...settings, envTokenBudget });
    const [first, last] = sink.records;
    expect(sink.records).toHaveLength(2);
    expect(first!.envTokens).toBeLessThan(envTokenBudget);
    expect(last!.envTokens).toBeGreaterThanOrEqual(envTokenBudget);
    expect(first!.learningRate).toBeCloseTo(0.002, 12);
    expect(last!.learningRate).toBeCloseTo(0.002 * (1 - first!.envTokens / envTokenBudget), 12);
    expect([first!.evalComp, first!.evalSingle, first!.evalLong]).toEqual([undefined, undefined, undefined]);
    expect([last!.evalComp, last!.evalSingle, last!.evalLong].map((e) => e?.episodes)).toEqual([2, 2, 2]);
    const end = events.filter((e) => e.type === 'progress').pop();
    expect(end?.type === 'progress' && end.progress.status).toBe('finished');
  });

  test('a run resumed after its last iteration does not go on; one resumed before it ends as it would have', async () => {
    const envTokenBudget = 1200;
    const whole = await play({ ...settings, envTokenBudget }, { wrap: stir });
    const { records, checkpoints } = whole.sink;
    expect(records.length).toBeGreaterThan(1);
    expect(records.length).toBeLessThan(6);
    const over = await play({ ...settings, envTokenBudget }, { wrap: stir, checkpoint: checkpoints.at(-1)! });
    expect(over.sink.records).toEqual([]);
    expect(over.policy).toEqual(whole.policy);
    const on = await play({ ...settings, envTokenBudget }, { wrap: stir, checkpoint: checkpoints[0]! });
    expect(timeless(on.sink.records)).toBe(timeless(records.slice(1)));
  });

  test('one that is never reached leaves the last iteration the end', async () => {
    const far = { ...settings, iterations: 2, envTokenBudget: 1_000_000_000 };
    const without = await play({ ...far, envTokenBudget: 0 }, { wrap: stir });
    const { sink } = await play(far, { wrap: stir });
    expect(timeless(sink.records)).toBe(timeless(without.sink.records));
    expect(sink.records.at(-1)!.evalLong!.episodes).toBe(2);
  });
});

test('training in twice the window: longer contexts in training, the same evaluation', async () => {
  const without: PartialConfig = { compaction: 'none', iterations: 1, difficultyMin: 3, learningRate: 0 };
  const longest = (rollouts: readonly { segments: readonly { ids: ArrayLike<number> }[] }[]) =>
    Math.max(...rollouts.flatMap((r) => r.segments.map((s) => s.ids.length)));
  const narrow = await play(without);
  const wide = await play({ ...without, trainWindowScale: 2 });
  expect(longest(narrow.sink.rollouts[0]!)).toBeLessThanOrEqual(64);
  expect(longest(wide.sink.rollouts[0]!)).toBeGreaterThan(64);
  expect(longest(wide.sink.rollouts[0]!)).toBeLessThanOrEqual(128);
  const evaluated = ({ sink }: typeof narrow) => {
    const { evalComp, evalSingle, evalLong } = sink.records[0]!;
    return { evalComp, evalSingle, evalLong };
  };
  expect(evaluated(wide)).toEqual(evaluated(narrow));
});

test('actor × writer: another writer changes the summaries, and no token before the first of them', async () => {
  const config = parseConfig({ ...toy, difficultyMin: 3 });
  const shape = shapeOf(config, VOCABULARY_SIZE);
  const engine = await createEngine({ context: await testContext(), engine: config.engine }, shape, config);
  const pool = createTerminalPool({ workers: 0 });
  const actor = initialParameters(shape, 1, { copyInit: 1 });
  const other = initialParameters(shape, 2, { copyInit: 1 });
  const rollouts = async (mode: 'comp' | 'single', writer: Float32Array | null) => {
    await engine.setParameters('policy', actor);
    if (writer) await engine.setParameters('writer', writer);
    const summaryRole = writer ? 'writer' : 'policy';
    return evaluateRollouts(mode, { engine, pool, config, seed: 5, episodes: 8, gate: async () => {}, summaryRole });
  };
  try {
    const [own, same, swapped] = [
      await rollouts('comp', null),
      await rollouts('comp', actor),
      await rollouts('comp', other),
    ];
    const summaries = (all: typeof own) => all.map((r) => r.compactions.map((c) => c.summary));
    expect(summaries(own).flat().length).toBeGreaterThan(0);
    // The writer that is the policy writes what the policy writes.
    expect(summaries(same)).toEqual(summaries(own));
    expect(summaries(swapped)).not.toEqual(summaries(own));
    const before = (all: typeof own) => all.map((r) => [...(r.segments[0]?.ids ?? [])]);
    expect(before(swapped)).toEqual(before(own));
    // Without compaction there is nothing to write.
    expect(await rollouts('single', other)).toEqual(await rollouts('single', null));
  } finally {
    engine.dispose();
    await pool.close();
  }
});
