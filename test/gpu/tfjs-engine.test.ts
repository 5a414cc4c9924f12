/**
 * The tfjs engine on the GPU: outputs and decoding against float64, whole-step gradients and tokens against our kernels,
 * Adam; then its promises: results independent of the batch around them, repeatable, memory flat.
 */
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { LossOptions, OptimiserOptions, PolicyEngine, UpdateBatch } from '../../src/model/engine';
import { checkGradients } from '../../src/model/gradient-check';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { createTfjsEngine } from '../../src/model/tfjs/engine';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { compareWithOracle, type Histories, makeJob, quick, randomParameters } from './decode-support';
import { losses, oracleOutputs, randomBatch, rowLengths } from './tfjs-support';

const shapes: Record<string, ModelShape> = {
  quick,
  'two layers, no previous token': { ...quick, layers: 2, previousToken: false },
};

/** Float32 outputs of a few layers: errors of 1e-5 are seen at this size of parameters; 1e-4 leaves room for adapters. */
const OUTPUT_TOLERANCE = 1e-4;
/** Two float32 engines that add in different orders: relative differences of 1e-6 to 1e-5 are seen; a wrong term changes a
 *  tensor's gradient by far more than 1e-3. */
const GRADIENT_TOLERANCE = 1e-3;

const adam: OptimiserOptions = { learningRate: 2e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, gradClip: 1 };

/** Software adapters compile tfjs' ~50 shaders in a minute or more, at their first use. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let context: GpuContext;
/** Keeps tfjs' backend, and so its compiled shaders, alive between tests. */
let keeper: PolicyEngine;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
  keeper = await createTfjsEngine(context, quick);
});
afterAll(() => {
  keeper?.dispose();
  context?.dispose();
});

async function engineWith(shape: ModelShape, flat: Float32Array, microBatchTokens?: number): Promise<PolicyEngine> {
  const engine = await createTfjsEngine(context, shape, { microBatchTokens });
  await engine.setParameters('policy', flat);
  return engine;
}

function batchOf(shape: ModelShape, flat: Float32Array, rows: number, seed: number): UpdateBatch {
  return randomBatch(shape, flat, rowLengths(rows, new RandomStream(seed, 'test', 2)), seed);
}

/** Largest difference; ∞ where a number is missing or NaN. */
function worst(actual: ArrayLike<number>, expected: (i: number) => number): number {
  return Array.from(actual, (x, i) => Math.abs(x - expected(i))).reduce(
    (max, error) => (Number.isNaN(error) ? Infinity : Math.max(max, error)),
    0,
  );
}

describe.each(Object.entries(shapes))('%s', (_name, shape) => {
  const flat = randomParameters(shape, 11);

  let engine: PolicyEngine;
  let kernels: PolicyEngine;
  beforeAll(async () => {
    engine = await engineWith(shape, flat);
    kernels = await createWebGpuEngine(context, shape);
    await kernels.setParameters('policy', flat);
  });
  afterAll(() => {
    engine?.dispose();
    kernels?.dispose();
  });

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

  test.each(Object.entries(losses))('gradient of our kernels equals its gradient: %s', async (_loss, loss) => {
    const check = await checkGradients(kernels, engine, batchOf(shape, flat, 8, 3), loss);
    expect(check.maxRelativeError, check.worstParameter).toBeLessThan(GRADIENT_TOLERANCE);
    expect(check.lossError).toBeLessThan(OUTPUT_TOLERANCE);
  });

  test('the gradient check names the parameter that differs', async () => {
    const other = await engineWith(shape, flat);
    const changed = flat.slice();
    const { offset } = parameterLayout(shape).byName.get('value_head.bias')!;
    changed[offset]! += 0.5; // V enters the gradient of everything below the value head
    await other.setParameters('policy', changed);
    const check = await checkGradients(other, engine, batchOf(shape, flat, 8, 3), losses['separate critic']!);
    expect(check.maxRelativeError).toBeGreaterThan(10 * GRADIENT_TOLERANCE);
    expect(check.relativeErrors.get(check.worstParameter)).toBe(check.maxRelativeError);
    expect(check.relativeErrors.get('lm_head.weight')).toBe(0); // no policy term
    other.dispose();
  });

  test('tokens equal those of our kernels', async () => {
    const rng = new RandomStream(4, 'test', 6);
    const jobs = Array.from({ length: 20 }, (_, slot) =>
      makeJob(new Map(), rng, shape, { slot, start: 0, feed: 1 + rng.integer(40), cap: 8, index: slot }),
    );
    const [theirs, ours] = await Promise.all(
      [engine, kernels].map(async (each) => {
        await each.openSlots('policy', 20, 64);
        return each.decode('policy', jobs, { key: randomKey(9, 'sample') });
      }),
    );
    // 160 draws: one lies within float rounding (1e-6) of a boundary in about one run of 10⁴.
    expect(theirs!.map((r) => [...r.ids])).toEqual(ours!.map((r) => [...r.ids]));
    theirs!.forEach((result, j) => {
      expect(worst(result.logp, (i) => ours![j]!.logp[i]!)).toBeLessThan(OUTPUT_TOLERANCE);
      expect(worst(result.values, (i) => ours![j]!.values[i]!)).toBeLessThan(OUTPUT_TOLERANCE);
    });
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
        const length = { feed: 1 + rng.integer(14), cap: 1 + rng.integer(8) };
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
});

describe('promises', () => {
  const flat = randomParameters(quick, 31);

  test('loss and gradient do not change with the micro-batch size', async () => {
    const batch = batchOf(quick, flat, 40, 4);
    const loss: LossOptions = losses.everything!;
    const small = await engineWith(quick, flat, 256);
    const large = await engineWith(quick, flat, 1 << 20);
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
    const second = await createTfjsEngine(context, quick);
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

  test('memory is flat over 20 updates and decodes, and dispose frees all of it', async () => {
    const atStart = tf.memory().numTensors;
    const engine = await engineWith(quick, flat);
    await engine.openSlots('policy', 8, 64);
    const batch = batchOf(quick, flat, 20, 10);
    const rng = new RandomStream(1, 'test', 5);
    const key = randomKey(1, 'sample');
    let tensors = 0;
    let bytes = 0;
    for (let i = 0; i < 22; i++) {
      const jobs = Array.from({ length: 8 }, (_, slot) =>
        makeJob(new Map(), rng, quick, { slot, start: 0, feed: 20, cap: 3 }),
      );
      await engine.decode('policy', jobs, { key });
      await engine.score('policy', batch);
      await engine.update('policy', batch, losses.everything!, adam);
      if (i === 1) ({ tensors, bytes } = { tensors: tf.memory().numTensors, bytes: engine.deviceBytes() });
    }
    expect(tf.memory().numTensors).toBe(tensors);
    expect(engine.deviceBytes()).toBe(bytes);
    expect(bytes).toBeGreaterThan(0);
    engine.dispose();
    expect(tf.memory().numTensors).toBe(atStart);
  });

  test('batches of varying shape do not pile up freed buffers, and freeing them loses no command', async () => {
    const poolBytes = 2 ** 20;
    const engine = await createTfjsEngine(context, quick, { poolBytes });
    const roomy = await engineWith(quick, flat);
    await engine.setParameters('policy', flat);
    for (const rows of [4, 9, 21]) {
      await engine.update('policy', batchOf(quick, flat, rows, rows), losses.everything!, adam);
      const { numBytesInGPU } = tf.memory() as unknown as { numBytesInGPU: number };
      expect(numBytesInGPU).toBeGreaterThan(0);
      expect(engine.deviceBytes() - numBytesInGPU).toBeLessThanOrEqual(poolBytes);
      await roomy.update('policy', batchOf(quick, flat, rows, rows), losses.everything!, adam);
      // The end of a call writes the cache; nothing is read after it, so the commands are still to be submitted.
      const jobs = Array.from({ length: 8 }, (_, slot) =>
        makeJob(new Map(), new RandomStream(slot, 'test', 7), quick, { slot, start: 0, feed: 20, cap: 3 }),
      );
      const decoded = [engine, roomy].map(async (each) => {
        await each.openSlots('policy', 8, 64);
        const first = await each.decode('policy', jobs, { key: [1, 2] });
        const next = jobs.map((job, j) => ({ ...job, start: 22, feed: first[j]!.ids.slice(2), previous: 1, index: 3 }));
        return each.decode('policy', next, { key: [1, 2] });
      });
      expect(await decoded[0]).toEqual(await decoded[1]);
    }
    engine.dispose();
    roomy.dispose();
  });

  test('a missing model, a wrong parameter count and another device are told apart; a freed one makes room', async () => {
    const engine = await engineWith(quick, flat);
    await expect(engine.getParameters('critic')).rejects.toMatchObject({ code: 'model.missing' });
    await expect(engine.setParameters('policy', new Float32Array(5))).rejects.toMatchObject({
      code: 'model.parameters',
    });
    const other = await acquireDevice(await dawnGpu());
    await expect(createTfjsEngine(other, quick)).rejects.toMatchObject({ code: 'tfjs.device-in-use' });
    engine.dispose();
    keeper.dispose();
    (await createTfjsEngine(other, quick)).dispose();
    other.dispose();
  });
});
