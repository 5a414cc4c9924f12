/**
 * The jax-js engine on its webgpu device, beside the same engine on wasm (which jax-engine.test.ts holds against float64):
 * one process, two devices, the same results. A small model: jax-js' kernels take long to compile on software adapters.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import type { OptimiserOptions, PolicyEngine } from '../../src/model/engine';
import { checkGradients } from '../../src/model/gradient-check';
import { createJaxEngine } from '../../src/model/jax/engine';
import type { ModelShape } from '../../src/model/parameters';
import { makeJob, randomParameters } from './decode-support';
import { losses, randomBatch } from './tfjs-support';

const shape: ModelShape = {
  vocabulary: 16,
  dModel: 16,
  layers: 1,
  heads: 2,
  mlp: 16,
  positions: 32,
  previousToken: true,
};
const flat = randomParameters(shape, 11);
/** With the usual ε = 1e-8 a gradient that is 0 but for rounding (keys' biases) would make steps of random sign. */
const adam: OptimiserOptions = { learningRate: 2e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-3, gradClip: 1 };

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let gpu: PolicyEngine;
let wasm: PolicyEngine;
beforeAll(async () => {
  wasm = await createJaxEngine('wasm', shape);
  gpu = await createJaxEngine('webgpu', shape, { gpu: await dawnGpu() });
  for (const engine of [wasm, gpu]) await engine.setParameters('policy', flat);
});
afterAll(() => {
  gpu?.dispose();
  wasm?.dispose();
});

test('gradients, and parameters after three updates, are the same on both devices', async () => {
  const batch = randomBatch(shape, flat, [16, 12, 9, 16, 3, 14], 3);
  const check = await checkGradients(gpu, wasm, batch, losses.everything!);
  // Two float32 devices that add in different orders; a wrong term changes a tensor's gradient by far more.
  expect(check.maxRelativeError, check.worstParameter).toBeLessThan(1e-3);
  for (let i = 0; i < 3; i++)
    for (const engine of [gpu, wasm]) await engine.update('policy', batch, losses.everything!, adam);
  const [a, b] = [await gpu.getParameters('policy'), await wasm.getParameters('policy')];
  // Steps are 2e-3 at most; rounding of gradients (1e-7) is divided by ε.
  expect(Math.max(...a.map((x, i) => Math.abs(x - b[i]!)))).toBeLessThan(1e-5);
  expect(Math.max(...a.map((x, i) => Math.abs(x - flat[i]!)))).toBeGreaterThan(1e-3);
});

test('tokens are the same on both devices', async () => {
  for (const engine of [gpu, wasm]) await engine.setParameters('policy', flat);
  const rng = new RandomStream(4, 'test', 6);
  const jobs = Array.from({ length: 12 }, (_, slot) =>
    makeJob(new Map(), rng, shape, { slot, start: 0, feed: 1 + rng.integer(10), cap: 8, index: slot }),
  );
  const tokens: number[][][] = [];
  for (const engine of [gpu, wasm]) {
    await engine.openSlots('policy', 12, 32);
    const results = await engine.decode('policy', jobs, { key: randomKey(9, 'sample') });
    tokens.push(results.map(({ ids }) => [...ids]));
  }
  // 96 draws: one lies within float rounding (1e-6) of a boundary in about one run of 10⁴.
  expect(tokens[0]).toEqual(tokens[1]);
});
