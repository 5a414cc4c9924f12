import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AdvantageBatch, AdvantageMode, AdvantageOptions } from '../../src/core/algorithm/algorithm';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { compileKernel, Recorder } from '../../src/gpu/kernel';
import { advantages, computeAdvantages, encodeAdvantages, lossOfTrace } from '../../src/gpu/kernels/advantages';
import vectors from '../fixtures/vectors.json';
import { type OracleRollout, oracleAdvantages } from '../oracle/advantages';
import { integer, packRollouts, randomRollout, seeded } from '../oracle/cases';
import { difference, worstDifference } from '../oracle/close';
import { DeviceArrays, mutate } from './loss-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
  console.log(`adapter: ${context.adapter.description}`);
});
afterAll(() => context.dispose());

const modes: readonly AdvantageMode[] = ['paper', 'uncorrected', 'stitched', 'last-only'];
/** Agreed with other implementations; float32 rounding over some hundred steps stays well below. */
const TOLERANCE = { absolute: 1e-5 };

/** Runs the kernel, or a changed one, with sentinels around its outputs. */
async function run(batch: AdvantageBatch, options: AdvantageOptions, kernel = advantages) {
  const arrays = new DeviceArrays(context);
  try {
    const tokens = batch.values.length;
    const slices = {
      values: arrays.input(batch.values),
      trainableStart: arrays.input(batch.trainableStart),
      rolloutStart: arrays.input(batch.rolloutStart),
      rewards: arrays.input(batch.rewards),
      lossOfTrace: arrays.input(lossOfTrace(batch, options)),
      advantages: arrays.output(tokens),
      targets: arrays.output(tokens),
    };
    const recorder = new Recorder(context, 'test');
    encodeAdvantages(recorder, await compileKernel(context, kernel), slices, batch.rewards.length, options);
    recorder.submit();
    const [a, t] = await arrays.read([slices.advantages, slices.targets], tokens);
    return { advantages: a!, targets: t! };
  } finally {
    arrays.dispose();
  }
}

function wanted(rollouts: readonly OracleRollout[], mode: AdvantageMode) {
  const each = rollouts.map((r) => oracleAdvantages(r, mode));
  return {
    advantages: each.flatMap((w) => w.advantages.flat()),
    targets: each.flatMap((w) => w.targets.flat()),
  };
}

const local = (mode: AdvantageMode, gamma: number): AdvantageOptions => ({ mode, gamma, valueTarget: 'local' });

describe('fixtures', () => {
  for (const mode of modes)
    test(mode, async () => {
      for (const fixture of vectors.advantages) {
        const { segments, reward, gamma, lam } = fixture;
        const batch = packRollouts([{ segments, reward, gamma, lambda: segments.map(() => lam) }]);
        const got = await run(batch, local(mode, gamma));
        expect(difference(got.advantages, fixture[mode].flat(), TOLERANCE), fixture.name).toBeNull();
        expect(difference(got.targets, fixture.targets[mode].flat(), TOLERANCE), fixture.name).toBeNull();
      }
    });

  test('(γλ)^0 is exactly 1 at λ 0', async () => {
    const { segments, lam, paper } = vectors.lambdaZero;
    const batch = packRollouts([{ segments, reward: 1, gamma: 1, lambda: [lam, lam] }]);
    const got = await run(batch, local('paper', 1));
    expect(difference(got.advantages, paper.flat(), TOLERANCE)).toBeNull();
  });

  test('factors of the length-adaptive λ, up to 400 tokens', async () => {
    for (const { n, factors, scope } of vectors.lambdaFactors) {
      const all = n.reduce((a, b) => a + b, 0);
      const lambda = n.map((own) => 1 - 1 / (1.5 * (scope === 'rollout' ? all : own)));
      // With V = 0 and R = 1 the last token of a segment has advantage = factor.
      const segments = n.map((own) => new Array<number>(own).fill(0));
      const batch = packRollouts([{ segments, reward: 1, gamma: 1, lambda }]);
      const got = await run(batch, local('paper', 1));
      const last = n.map((_, s) => got.advantages[batch.trainableStart[s + 1]! - 1]!);
      expect(difference(last, factors, { absolute: 1e-6 })).toBeNull();
    }
  });
});

describe('against the oracle', () => {
  for (const mode of modes)
    test(`${mode}, 1 to 131 rollouts`, async () => {
      const random = seeded(41);
      for (const count of [1, 2, 63, 64, 65, 131]) {
        const gamma = Math.fround(count % 2 === 0 ? 1 : 0.97);
        const rollouts = Array.from({ length: count }, () =>
          randomRollout(
            random,
            Array.from({ length: integer(random, 1, 6) }, () => integer(random, 0, 13)),
            gamma,
          ),
        );
        const batch = packRollouts(rollouts);
        const got = await run(batch, local(mode, gamma));
        const want = wanted(rollouts, mode);
        expect(difference(got.advantages, want.advantages, TOLERANCE), `${count}`).toBeNull();
        expect(difference(got.targets, want.targets, TOLERANCE), `${count}`).toBeNull();
        const corrected = await run(batch, { mode, gamma, valueTarget: 'corrected' });
        const target = want.advantages.map((a, p) => a + batch.values[p]!);
        expect(difference(corrected.targets, target, TOLERANCE), `${count} corrected`).toBeNull();
      }
    });

  test('long rollouts with the length-adaptive λ: 1,009 tokens in five segments', async () => {
    const random = seeded(42);
    const counts = [307, 12, 401, 20, 269];
    const rollout = { ...randomRollout(random, counts, 1), lambda: counts.map(() => 1 - 1 / (1.5 * 1009)) };
    for (const mode of modes) {
      const got = await run(packRollouts([rollout]), local(mode, 1));
      const want = wanted([rollout], mode);
      console.log(`${mode}: worst ${worstDifference(got.advantages, want.advantages).toExponential(1)}`);
      expect(difference(got.advantages, want.advantages, TOLERANCE)).toBeNull();
    }
  });

  test('more rollouts than one line of workgroups holds', async () => {
    const count = 65535 * 64 + 77;
    const values = Float32Array.from({ length: count }, (_, n) => (n % 17) / 16);
    const start = Uint32Array.from({ length: count + 1 }, (_, n) => n);
    const rewards = Float32Array.from({ length: count }, (_, n) => n % 2);
    const batch = { values, trainableStart: start, rolloutStart: start, rewards, lambda: new Float32Array(count) };
    const got = await computeAdvantages(context, batch, local('paper', 1));
    // One token a rollout: Â = R − V, exact in float32.
    const bad = got.advantages.findIndex((a, n) => a !== rewards[n]! - values[n]!);
    expect(bad).toBe(-1);
    expect(got.targets.every((t, n) => t === rewards[n])).toBe(true);
  }, 120_000);

  test('zero rewards and values give exactly zero', async () => {
    const rollout = { segments: [[0, 0], [0], [0, 0, 0]], reward: 0, gamma: 1, lambda: [0.9, 0.9, 0.9] };
    for (const mode of modes) {
      const got = await run(packRollouts([rollout]), local(mode, 1));
      expect([...got.advantages, ...got.targets].every((x) => x === 0)).toBe(true);
    }
  });

  test('the same bits twice, and for a rollout alone', async () => {
    const random = seeded(43);
    const rollouts = Array.from({ length: 40 }, () => randomRollout(random, [5, 3, 8], 1));
    const first = await run(packRollouts(rollouts), local('paper', 1));
    const again = await run(packRollouts(rollouts), local('paper', 1));
    expect([...again.advantages]).toEqual([...first.advantages]);
    const alone = await run(packRollouts([rollouts[7]!]), local('paper', 1));
    expect([...alone.advantages]).toEqual([...first.advantages.subarray(7 * 16, 8 * 16)]);
  });

  test('a NaN reaches the host', async () => {
    const rollout = { segments: [[0.5, Number.NaN], [0.1]], reward: 1, gamma: 1, lambda: [0.9, 0.9] };
    const got = await run(packRollouts([rollout]), local('paper', 1));
    expect([...got.advantages].map(Number.isNaN)).toEqual([true, true, false]);
  });
});

describe('a broken kernel is noticed', () => {
  const breaks: [string, AdvantageMode, string, string][] = [
    ['the factor forgotten', 'paper', 'let advantage = factor * local;', 'let advantage = local;'],
    ['the boundary bootstrapped', 'paper', 'if (params.mode != STITCHED) {', 'if (false) {'],
    ['the segment cut', 'stitched', 'if (params.mode != STITCHED) {', 'if (true) {'],
    ['λ forgotten in the trace', 'paper', '(next_advantage - c * next_advantage)', 'next_advantage'],
    ['R on every token', 'paper', '      reward = 0.0;\n', ''],
    ['R in every segment', 'last-only', 'select(reward, 0.0, seen)', 'reward'],
    ['the first token skipped', 'paper', 'while (p > from_token) {', 'while (p > from_token + 1u) {'],
  ];
  for (const [name, mode, from, to] of breaks)
    test(name, async () => {
      const random = seeded(44);
      const rollouts = Array.from({ length: 3 }, () => randomRollout(random, [4, 2, 3], 1));
      const want = wanted(rollouts, mode).advantages;
      const sound = await run(packRollouts(rollouts), local(mode, 1));
      expect(difference(sound.advantages, want, TOLERANCE)).toBeNull();
      const broken = await run(packRollouts(rollouts), local(mode, 1), mutate(advantages, from, to));
      expect(difference(broken.advantages, want, TOLERANCE)).not.toBeNull();
    });
});
