/**
 * What every engine in an array library must keep, whatever computes it: outputs and decoding equal float64, Adam; results
 * independent of the batch around them, repeatable; errors told apart. Each engine's test adds what is its own.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import type { AutodiffOptions } from '../../src/model/autodiff/engine';
import type { LossOptions, OptimiserOptions, PolicyEngine, UpdateBatch } from '../../src/model/engine';
import type { ModelShape } from '../../src/model/parameters';
import { compareWithOracle, type Histories, makeJob, quick, randomParameters } from './decode-support';
import { losses, oracleOutputs, randomBatch, rowLengths } from './tfjs-support';

/** Makes the engine under test. */
export type CreateEngine = (shape: ModelShape, options?: AutodiffOptions) => Promise<PolicyEngine>;

export const shapes = {
  quick,
  'two layers, no previous token': { ...quick, layers: 2, previousToken: false },
} satisfies Record<string, ModelShape>;

/** Float32 outputs of a few layers: errors of 1e-5 are seen at this size of parameters; 1e-4 leaves room for adapters. */
export const OUTPUT_TOLERANCE = 1e-4;
/** Two float32 engines that add in different orders: relative differences of 1e-6 to 1e-5 are seen; a wrong term changes a
 *  tensor's gradient by far more than 1e-3. */
export const GRADIENT_TOLERANCE = 1e-3;

export const adam: OptimiserOptions = { learningRate: 2e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: 1 };

/** A random batch of `rows` rows. */
export function batchOf(shape: ModelShape, flat: Float32Array, rows: number, seed: number): UpdateBatch {
  return randomBatch(shape, flat, rowLengths(rows, new RandomStream(seed, 'test', 2)), seed);
}

/** Largest difference; ∞ where a number is missing or NaN. */
export function worst(actual: ArrayLike<number>, expected: (i: number) => number): number {
  return Array.from(actual, (x, i) => Math.abs(x - expected(i))).reduce(
    (max, error) => (Number.isNaN(error) ? Infinity : Math.max(max, error)),
    0,
  );
}

/** Makes an engine that holds `flat` as its policy. */
export function withPolicy(create: CreateEngine) {
  return async (shape: ModelShape, flat: Float32Array, options?: AutodiffOptions): Promise<PolicyEngine> => {
    const engine = await create(shape, options);
    await engine.setParameters('policy', flat);
    return engine;
  };
}

/** Registers the tests of the contract. @param create called inside of tests and hooks only */
export function engineContract(create: CreateEngine): void {
  const engineWith = withPolicy(create);
  describe.each(Object.entries<ModelShape>(shapes))('against float64: %s', (_name, shape) =>
    forwardContract(engineWith, shape),
  );
  describe('training', () => trainingContract(create));
  describe('promises', () => promisesContract(engineWith));
}

function forwardContract(engineWith: ReturnType<typeof withPolicy>, shape: ModelShape): void {
  const flat = randomParameters(shape, 11);

  let engine: PolicyEngine;
  beforeAll(async () => {
    engine = await engineWith(shape, flat);
  });
  afterAll(() => engine?.dispose());

  test('log-probs, entropies and values equal float64', async () => {
    const batch = randomBatch(shape, flat, [...rowLengths(6, new RandomStream(3, 'test', 2)), shape.positions], 3);
    const { logp, entropy, values } = await engine.score('policy', batch);
    const outputs = oracleOutputs(shape, flat, batch);
    const errors = [
      worst(logp, (i) => outputs[i]!.logp),
      worst(entropy, (i) => outputs[i]!.entropy),
      worst(values, (i) => outputs[i]!.value),
    ];
    expect([logp.length, entropy.length, values.length]).toEqual(new Array(3).fill(outputs.length));
    expect(Math.max(...errors)).toBeLessThan(OUTPUT_TOLERANCE);
  });

  test('decoding equals full recomputation, over calls that continue and restart slots', async () => {
    await engine.openSlots('policy', 24, 80);
    const rng = new RandomStream(5, 'test', 3);
    const histories: Histories = new Map();
    const key = randomKey(7, 'sample');
    let exact = 0;
    let samples = 0;
    for (let call = 0; call < 3; call++) {
      const jobs = Array.from({ length: 24 }, (_, slot) => {
        // Every third slot restarts; the others go on where they were, in place of the last token, which was never fed.
        const start = slot % 3 === call ? 0 : Math.max(0, (histories.get(slot) ?? []).length - 1);
        const length = { feed: 1 + rng.integer(18), cap: 1 + rng.integer(8) };
        return makeJob(histories, rng, shape, { slot, start, ...length, stop: slot });
      });
      const results = await engine.decode('policy', jobs, { key });
      const compared = compareWithOracle(shape, flat, key, histories, jobs, results);
      exact += compared.exact;
      samples += compared.samples;
    }
    // A draw within 1e-5 of a boundary is allowed to differ: about one in 10⁴.
    expect(exact).toBeGreaterThanOrEqual(samples - 1);
  });
}

function promisesContract(engineWith: ReturnType<typeof withPolicy>): void {
  const flat = randomParameters(quick, 31);

  test('loss and gradient do not change with the micro-batch size', async () => {
    const batch = batchOf(quick, flat, 40, 4);
    const loss: LossOptions = losses.everything!;
    const small = await engineWith(quick, flat, { microBatchTokens: 256 });
    const large = await engineWith(quick, flat, { microBatchTokens: 1 << 20 });
    const a = await small.gradient('policy', batch, loss);
    const b = await large.gradient('policy', batch, loss);
    const scale = b.stats.gradNorm;
    const error = Math.hypot(...a.gradient.map((g, i) => g - b.gradient[i]!)) / scale;
    // Only the order of float32 additions differs.
    expect(error).toBeLessThan(1e-5);
    expect(Math.abs(a.stats.loss - b.stats.loss)).toBeLessThan(1e-5);
    small.dispose();
    large.dispose();
  });

  test('a decode job alone and among others gives the same bits', async () => {
    const engine = await engineWith(quick, flat);
    await engine.openSlots('policy', 40, 100);
    const rng = new RandomStream(6, 'test', 4);
    const jobs = Array.from({ length: 40 }, (_, slot) =>
      makeJob(new Map(), rng, quick, { slot, start: 0, feed: 1 + rng.integer(70), cap: 6 }),
    );
    const key = randomKey(8, 'sample');
    const together = await engine.decode('policy', jobs, { key });
    for (const i of [0, 13, 39]) expect((await engine.decode('policy', [jobs[i]!], { key }))[0]).toEqual(together[i]);
    engine.dispose();
  });

  test('a missing model, missing slots and a wrong parameter count are told apart', async () => {
    const engine = await engineWith(quick, flat);
    await expect(engine.getParameters('critic')).rejects.toMatchObject({ code: 'model.missing' });
    await expect(engine.setParameters('policy', new Float32Array(5))).rejects.toMatchObject({
      code: 'model.parameters',
    });
    const job = makeJob(new Map(), new RandomStream(1, 'test', 5), quick, { slot: 0, start: 0, feed: 2, cap: 3 });
    await expect(engine.decode('policy', [job], { key: [1, 2] })).rejects.toMatchObject({ code: 'decode.slot' });
    engine.dispose();
  });
}

function trainingContract(create: CreateEngine): void {
  const engineWith = withPolicy(create);
  const flat = randomParameters(quick, 31);

  test('two runs of updates give the same bits', async () => {
    const batch = batchOf(quick, flat, 30, 6);
    const run = async () => {
      const engine = await engineWith(quick, flat);
      for (let i = 0; i < 3; i++) await engine.update('policy', batch, losses.everything!, adam);
      const result = await engine.getParameters('policy');
      engine.dispose();
      return result;
    };
    expect(await run()).toEqual(await run());
  });

  test('Adam with gradient clipping equals float64', async () => {
    const engine = await engineWith(quick, flat);
    const batch = batchOf(quick, flat, 12, 7);
    const m = new Float64Array(flat.length);
    const v = new Float64Array(flat.length);
    for (let step = 1; step <= 3; step++) {
      const before = await engine.getParameters('policy');
      const { gradient, stats } = await engine.gradient('policy', batch, losses.everything!);
      expect(stats.gradNorm).toBeGreaterThan(0.05); // so that the clip below acts
      const clipped = { ...adam, gradClip: 0.05 };
      await engine.update('policy', batch, losses.everything!, clipped);
      const after = await engine.getParameters('policy');
      const norm = Math.hypot(...gradient);
      const expected = Array.from(before, (x, i) => {
        const g = (gradient[i]! * 0.05) / norm;
        m[i] = adam.beta1 * m[i]! + (1 - adam.beta1) * g;
        v[i] = adam.beta2 * v[i]! + (1 - adam.beta2) * g * g;
        const change = m[i]! / (1 - adam.beta1 ** step) / (Math.sqrt(v[i]! / (1 - adam.beta2 ** step)) + adam.epsilon);
        return x - adam.learningRate * change;
      });
      // A step is at most ~learningRate = 2e-3 per parameter; float32 rounding of parameters of size 1 is 6e-8, of the
      // moments 1e-6 relative, and tiny gradients are amplified by 1/√v.
      expect(worst(after, (i) => expected[i]!)).toBeLessThan(2e-5);
    }
    const state = await engine.getOptimiser('policy');
    expect(state.step).toBe(3);
    expect(worst(state.m, (i) => m[i]!)).toBeLessThan(1e-6);
    expect(worst(state.v, (i) => v[i]!)).toBeLessThan(1e-7);
    engine.dispose();
  });

  test('optimiser state and parameters survive a round trip', async () => {
    const engine = await engineWith(quick, flat);
    const batch = batchOf(quick, flat, 12, 7);
    await engine.update('policy', batch, losses.token!, adam);
    const parameters = await engine.getParameters('policy');
    const state = await engine.getOptimiser('policy');
    const second = await create(quick);
    await second.setParameters('policy', parameters);
    await second.setOptimiser('policy', state);
    await engine.update('policy', batch, losses.token!, adam);
    await second.update('policy', batch, losses.token!, adam);
    expect(await second.getParameters('policy')).toEqual(await engine.getParameters('policy'));
    engine.dispose();
    second.dispose();
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])(
    '%s in the batch leaves the parameters as they were',
    async (bad) => {
      const engine = await engineWith(quick, flat);
      const batch = batchOf(quick, flat, 6, 8);
      batch.advantages[3] = bad;
      const before = await engine.getParameters('policy');
      const stats = await engine.update('policy', batch, losses.token!, adam);
      expect(stats.nonFinite).toBe(true);
      expect(await engine.getParameters('policy')).toEqual(before);
      expect((await engine.getOptimiser('policy')).step).toBe(0);
      engine.dispose();
    },
  );
}
