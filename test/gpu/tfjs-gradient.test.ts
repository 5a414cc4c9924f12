/**
 * The tfjs engine's whole-step gradient against finite differences of the float64 oracle, every parameter, every loss.
 * On tfjs' CPU backend: the graph and the autodiff are the same on both backends, and nothing has to be compiled;
 * tfjs-webgpu.test.ts compares the WebGPU backend with our kernels.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { PolicyEngine } from '../../src/model/engine';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { createTfjsEngine } from '../../src/model/tfjs/engine';
import { oracleLoss } from '../oracle/loss';
import { quick, randomParameters } from './decode-support';
import { losses, oracleOutputs, oracleStep, randomBatch } from './tfjs-support';

/** Float32 sums over ~50 tokens of products of activations of size ~1: relative errors of 1e-6 to 1e-5 are seen; a wrong
 *  term changes a tensor's gradient by far more than 1e-3. */
const GRADIENT_TOLERANCE = 1e-3;
/** Loss: float32 means of numbers of size ~1. */
const LOSS_TOLERANCE = 1e-4;

describe('whole-step gradient against finite differences of the float64 loss', () => {
  const tiny: ModelShape = { ...quick, vocabulary: 8, dModel: 8, heads: 2, mlp: 12, positions: 17, layers: 2 };
  const flat = randomParameters(tiny, 21);
  const batch = randomBatch(tiny, flat, [16, 17, 3, 2, 9, 5], 9);
  const names = Object.keys(losses);
  /** By loss name: central differences for every parameter. */
  const expected = new Map(names.map((name) => [name, new Float64Array(flat.length)]));

  async function engineWith(): Promise<PolicyEngine> {
    const engine = await createTfjsEngine(null, tiny);
    await engine.setParameters('policy', flat);
    return engine;
  }

  beforeAll(() => {
    const h = 1e-5; // truncation ~h² and float64 cancellation ~1e-16/h both stay below 1e-9
    const moved = Float64Array.from(flat);
    for (const { offset, size } of parameterLayout(tiny).entries)
      for (let i = offset; i < offset + size; i++) {
        const steps = [h, -h].map((change) => {
          moved[i] = flat[i]! + change;
          return oracleStep(batch, oracleOutputs(tiny, moved, batch));
        });
        moved[i] = flat[i]!;
        for (const name of names) {
          const [up, down] = steps.map((step) => oracleLoss(step, losses[name]!).loss);
          expected.get(name)![i] = (up! - down!) / (2 * h);
        }
      }
  });

  test.each(names)('%s', async (name) => {
    const engine = await engineWith();
    const { gradient, stats } = await engine.gradient('policy', batch, losses[name]!);
    const difference = expected.get(name)!;
    const total = Math.hypot(...difference);
    expect(total).toBeGreaterThan(1e-3);
    expect(Math.abs(stats.gradNorm - total) / total).toBeLessThan(GRADIENT_TOLERANCE);
    for (const entry of parameterLayout(tiny).entries) {
      const range = Array.from({ length: entry.size }, (_, i) => entry.offset + i);
      const error = Math.hypot(...range.map((i) => gradient[i]! - difference[i]!));
      const scale = Math.max(Math.hypot(...range.map((i) => difference[i]!)), 1e-3 * total);
      expect(error / scale, `${name}: ${entry.name}`).toBeLessThan(GRADIENT_TOLERANCE);
    }
    const oracle = oracleLoss(oracleStep(batch, oracleOutputs(tiny, flat, batch)), losses[name]!);
    expect(Math.abs(stats.loss - oracle.loss)).toBeLessThan(LOSS_TOLERANCE);
    engine.dispose();
  });

  test('the comparison fails when the loss is another one', async () => {
    const engine = await engineWith();
    const { gradient } = await engine.gradient('policy', batch, { ...losses.token!, clip: 0.1 });
    const difference = expected.get('token')!;
    const error = Math.hypot(...difference.map((g, i) => gradient[i]! - g));
    expect(error / Math.hypot(...difference)).toBeGreaterThan(10 * GRADIENT_TOLERANCE);
    engine.dispose();
  });
});
