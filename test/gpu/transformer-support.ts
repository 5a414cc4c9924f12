/** What the transformer's GPU tests share: device, random models and batches, comparisons that fail on NaN. */
import { expect } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { LossOptions, UpdateBatch } from '../../src/model/engine';
import { initialParameters } from '../../src/model/initialise';
import { type ModelShape, parameterLayout, tensorOf } from '../../src/model/parameters';
import { difference } from '../oracle/close';
import type { OracleRows } from '../oracle/transformer';

let shared: Promise<GpuContext> | undefined;
/** One device a test file; a missing adapter throws, and so fails the file. */
export function testContext(): Promise<GpuContext> {
  shared ??= (async () => {
    const context = await acquireDevice(await dawnGpu());
    context.device.addEventListener('uncapturederror', (event) => {
      console.error(event.error.message);
      process.exitCode = 1;
    });
    return context;
  })();
  return shared;
}

export const tinyShape: ModelShape = {
  vocabulary: 12,
  dModel: 8,
  layers: 2,
  heads: 2,
  mlp: 12,
  positions: 24,
  previousToken: true,
};

export const quickShape: ModelShape = {
  vocabulary: 256,
  dModel: 32,
  layers: 1,
  heads: 4,
  mlp: 64,
  positions: 128,
  previousToken: true,
};

export const d128Shape: ModelShape = {
  vocabulary: 256,
  dModel: 128,
  layers: 4,
  heads: 4,
  mlp: 512,
  positions: 256,
  previousToken: true,
};

export const fullLoss: LossOptions = {
  objective: 'ppo',
  lossNorm: 'token',
  trainSummary: true,
  policyCoef: 1,
  valueCoef: 0.5,
  entropyCoef: 0.01,
  klCoef: 0.1,
  clip: 0.2,
  valueClip: 0.3,
};

/** Initial parameters with noise everywhere (biases, value head and layer norms included), so that no gradient is zero. */
export function noisyParameters(shape: ModelShape, seed: number): Float32Array {
  const flat = initialParameters(shape, seed, { copyInit: 0 });
  const random = new RandomStream(seed, 'test', 1);
  const layout = parameterLayout(shape);
  for (const { name } of layout.entries) {
    const values = tensorOf(flat, layout, name);
    for (let i = 0; i < values.length; i++) values[i]! += 0.1 * random.normal();
  }
  return flat;
}

/** Rows of random lengths from 2 up; about `share` of the tokens are trainable, at least one a row. */
export function randomBatch(
  shape: ModelShape,
  options: { seed: number; rows: number; maxLength: number; share: number },
): UpdateBatch {
  const random = new RandomStream(options.seed, 'test', 2);
  const ids: number[] = [];
  const rowStart = [0];
  const trainable: number[] = [];
  const trainableStart = [0];
  for (let r = 0; r < options.rows; r++) {
    const start = ids.length;
    const length = 2 + random.integer(options.maxLength - 1);
    for (let i = 0; i < length; i++) {
      ids.push(random.integer(shape.vocabulary));
      const last = i === length - 1 && trainable.length === trainableStart[r];
      if (i > 0 && (last || random.uniform() < options.share)) trainable.push(start + i);
    }
    rowStart.push(ids.length);
    trainableStart.push(trainable.length);
  }
  const floats = (f: () => number) => Float32Array.from(trainable, f);
  return {
    ids: Uint32Array.from(ids),
    rowStart: Uint32Array.from(rowStart),
    trainable: Uint32Array.from(trainable),
    trainableStart: Uint32Array.from(trainableStart),
    kind: Uint8Array.from({ length: options.rows }, (_, r) => r % 2),
    rollout: Uint32Array.from({ length: options.rows }, (_, r) => r >> 1),
    oldLogp: floats(() => -Math.log(shape.vocabulary) + 0.5 * random.normal()),
    advantages: floats(() => random.normal()),
    targets: floats(() => random.normal()),
    oldValues: floats(() => 0.3 * random.normal()),
    referenceLogp: floats(() => -Math.log(shape.vocabulary) + 0.5 * random.normal()),
  };
}

/** The rows as the oracle takes them. */
export function oracleRows(batch: UpdateBatch): OracleRows {
  const rows: number[][] = [];
  const trainable: number[][] = [];
  for (let r = 0; r + 1 < batch.rowStart.length; r++) {
    const start = batch.rowStart[r]!;
    rows.push([...batch.ids.subarray(start, batch.rowStart[r + 1]!)]);
    trainable.push(
      [...batch.trainable.subarray(batch.trainableStart[r]!, batch.trainableStart[r + 1]!)].map((t) => t - start),
    );
  }
  return { rows, trainable };
}

/** Named tensors of a flat array. */
export function namedTensors(shape: ModelShape, flat: Float32Array): Record<string, Float32Array> {
  const layout = parameterLayout(shape);
  return Object.fromEntries(layout.entries.map(({ name }) => [name, tensorOf(flat, layout, name)]));
}

/** Fails with first index, count and worst of the entries further than `absolute + relative · |expected|`, or NaN. */
export function expectClose(
  what: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: { absolute: number; relative?: number },
): void {
  expect(difference(actual, expected, tolerance), what).toBeNull();
}
