/**
 * The tfjs engine on the GPU: the contract of every such engine, whole-step gradients and tokens against our kernels; then
 * its memory and its device.
 */
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { PolicyEngine } from '../../src/model/engine';
import { checkGradients } from '../../src/model/gradient-check';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { createTfjsEngine } from '../../src/model/tfjs/engine';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { makeJob, quick, randomParameters } from './decode-support';
import {
  adam,
  batchOf,
  type CreateEngine,
  engineContract,
  GRADIENT_TOLERANCE,
  OUTPUT_TOLERANCE,
  shapes,
  withPolicy,
  worst,
} from './engine-contract';
import { losses } from './tfjs-support';

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

const create: CreateEngine = (shape, options) => createTfjsEngine(context, shape, options);
const engineWith = withPolicy(create);

engineContract(create);

describe.each(Object.entries<ModelShape>(shapes))('%s', (_name, shape) => {
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
});

describe('memory and device', () => {
  const flat = randomParameters(quick, 31);

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

  test('another device is refused; a freed one makes room', async () => {
    const engine = await engineWith(quick, flat);
    const other = await acquireDevice(await dawnGpu());
    await expect(createTfjsEngine(other, quick)).rejects.toMatchObject({ code: 'tfjs.device-in-use' });
    engine.dispose();
    keeper.dispose();
    (await createTfjsEngine(other, quick)).dispose();
    other.dispose();
  });
});
