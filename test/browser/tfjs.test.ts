/** The reference engine in a real browser: it loads lazily, shares our device, and agrees with our kernels. */
import { afterAll, expect, test, vi } from 'vitest';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { checkGradients } from '../../src/model/gradient-check';
import type { ModelShape } from '../../src/model/parameters';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { randomParameters } from '../gpu/decode-support';
import { losses, randomBatch } from '../gpu/tfjs-support';

vi.setConfig({ testTimeout: 300_000 }); // SwiftShader compiles tfjs' shaders slowly

const shape: ModelShape = {
  vocabulary: 16,
  dModel: 16,
  layers: 1,
  heads: 2,
  mlp: 16,
  positions: 24,
  previousToken: true,
};

let context: GpuContext | undefined;
afterAll(() => context?.dispose());

test('gradients equal those of our kernels', async () => {
  context = await acquireDevice(navigator.gpu);
  const { createTfjsEngine } = await import('../../src/model/tfjs/engine');
  const flat = randomParameters(shape, 1);
  const reference = await createTfjsEngine(context, shape);
  const kernels = await createWebGpuEngine(context, shape);
  await reference.setParameters('policy', flat);
  await kernels.setParameters('policy', flat);
  const check = await checkGradients(kernels, reference, randomBatch(shape, flat, [5, 9, 20], 2), losses.everything!);
  // As in Node (test/gpu/tfjs-engine.test.ts): 1e-5 is seen.
  expect(check.maxRelativeError, check.worstParameter).toBeLessThan(1e-3);
  reference.dispose();
  // Disposing the reference must leave our device alive.
  expect((await kernels.getParameters('policy')).slice(0, 9)).toEqual(flat.slice(0, 9));
  kernels.dispose();
});
