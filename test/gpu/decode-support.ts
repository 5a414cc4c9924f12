/** What the decode tests share: models, random contexts, and the comparison with the float64 oracle. */
import { expect } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import type { GpuContext } from '../../src/gpu/device';
import { MODEL_SLACK_BYTES } from '../../src/gpu/kernels/weight-windows';
import type { DecodeJob, DecodeResult } from '../../src/model/engine';
import { type ModelShape, parameterLayout } from '../../src/model/parameters';
import { oracleDraw, oracleForward, oracleTensors, oracleUniform } from '../oracle/decode';

export const quick: ModelShape = {
  vocabulary: 256,
  dModel: 32,
  layers: 1,
  heads: 4,
  mlp: 64,
  positions: 128,
  previousToken: true,
};

/** Shapes that reach every branch: layers, embeddings, tail tiles (widths that are no multiple of 16), head widths. */
export const shapes: Record<string, ModelShape> = {
  quick,
  'two layers, no previous token': { ...quick, layers: 2, previousToken: false },
  'odd widths': { vocabulary: 68, dModel: 24, layers: 2, heads: 2, mlp: 20, positions: 48, previousToken: true },
  'odd multiples of 16': {
    vocabulary: 272,
    dModel: 48,
    layers: 1,
    heads: 3,
    mlp: 80,
    positions: 40,
    previousToken: true,
  },
  smallest: { vocabulary: 16, dModel: 16, layers: 1, heads: 2, mlp: 16, positions: 16, previousToken: false },
  'single vec4': { vocabulary: 4, dModel: 4, layers: 1, heads: 1, mlp: 4, positions: 16, previousToken: true },
  'weights beyond a uniform buffer': {
    vocabulary: 320,
    dModel: 64,
    layers: 2,
    heads: 4,
    mlp: 256,
    positions: 40,
    previousToken: true,
  },
  'more outputs than 64 lanes take at once': {
    vocabulary: 520,
    dModel: 16,
    layers: 1,
    heads: 2,
    mlp: 264,
    positions: 32,
    previousToken: true,
  },
  d128: { vocabulary: 256, dModel: 128, layers: 1, heads: 4, mlp: 512, positions: 32, previousToken: true },
};

/**
 * Float32 sums of ≤ 512 terms of size ~1 with relative rounding 6e-8, chained over a few layers and an exp/log of the
 * adapter (a few ulp): errors of 1e-5 are seen, 1e-4 leaves room for other adapters.
 */
export const TOLERANCE = 1e-4;
/** A draw within this distance of a CDF boundary may fall on either side: sums of V float32 probabilities. */
export const BOUNDARY = 1e-5;

/** Random parameters, large enough that distributions are far from uniform and layer norms matter. */
export function randomParameters(shape: ModelShape, seed: number): Float32Array {
  const rng = new RandomStream(seed, 'test', 0);
  const layout = parameterLayout(shape);
  const flat = new Float32Array(layout.total);
  for (const { name, offset, size } of layout.entries) {
    const center = /ln_.\.weight$|ln_f\.weight$/.test(name) ? 1 : 0;
    const spread = name === 'lm_head.weight' ? 2 / Math.sqrt(shape.dModel) : 1.2 / Math.sqrt(shape.dModel);
    for (let i = 0; i < size; i++) flat[offset + i] = center + spread * rng.normal();
  }
  return flat;
}

export function upload(context: GpuContext, flat: Float32Array): GPUBuffer {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const buffer = context.createBuffer('parameters', flat.byteLength + MODEL_SLACK_BYTES, usage);
  context.device.queue.writeBuffer(buffer, 0, flat as Float32Array<ArrayBuffer>);
  return buffer;
}

/** The token history of each slot, kept by the test as a trainer keeps it. */
export type Histories = Map<number, number[]>;

/** Builds a job that truncates slot history to `start` and feeds `feed` tokens; the history is updated. */
export function makeJob(
  histories: Histories,
  rng: RandomStream,
  shape: ModelShape,
  job: { slot: number; start: number; feed: number; cap: number; stop?: number; stream?: number; index?: number },
): DecodeJob {
  const history = (histories.get(job.slot) ?? []).slice(0, job.start);
  expect(history).toHaveLength(job.start);
  const feed = Uint32Array.from({ length: job.feed }, () => rng.integer(shape.vocabulary));
  histories.set(job.slot, [...history, ...feed]);
  return {
    slot: job.slot,
    start: job.start,
    feed,
    previous: history[job.start - 1] ?? 0xffffffff,
    stop: job.stop ?? shape.vocabulary,
    cap: job.cap,
    stream: job.stream ?? job.slot,
    index: job.index ?? 0,
  };
}

/** Compares results with the oracle, token by token along what the GPU sampled; appends samples to the histories. */
export function compareWithOracle(
  shape: ModelShape,
  flat: Float32Array,
  key: readonly [number, number],
  histories: Histories,
  jobs: readonly DecodeJob[],
  results: readonly DecodeResult[],
): { samples: number; exact: number; worst: number } {
  const tensors = oracleTensors(shape, flat);
  let samples = 0;
  let exact = 0;
  let worst = 0;
  expect(results).toHaveLength(jobs.length);
  jobs.forEach((job, j) => {
    const { ids, logp, values } = results[j]!;
    const history = histories.get(job.slot)!;
    const at = history.length - 1;
    const where = `job ${j}, slot ${job.slot}, history ${history.length}`;
    expect(ids.length, where).toBeGreaterThan(0);
    expect(ids.length, where).toBeLessThanOrEqual(job.cap);
    expect([logp.length, values.length], where).toEqual([ids.length, ids.length]);
    if (ids.length < job.cap) expect(ids[ids.length - 1], where).toBe(job.stop);
    expect(ids.subarray(0, -1).includes(job.stop), where).toBe(false);
    const states = oracleForward(shape, tensors, [...history, ...ids]);
    ids.forEach((id, i) => {
      const state = states[at + i]!;
      const u = oracleUniform(key, job.stream, job.index + i);
      const { id: expected, below } = oracleDraw(state.logp, u);
      if (id === expected) exact++;
      const say = `${where}, sample ${i}: id ${id}, oracle ${expected}`;
      expect(u, say).toBeGreaterThan(below[id]! - BOUNDARY);
      expect(u, say).toBeLessThan(below[id + 1]! + BOUNDARY);
      for (const error of [Math.abs(logp[i]! - state.logp[id]!), Math.abs(values[i]! - state.value)]) {
        expect(error, say).toBeLessThan(TOLERANCE);
        worst = Math.max(worst, error);
      }
      samples++;
    });
    histories.set(job.slot, [...history, ...ids]);
  });
  return { samples, exact, worst };
}
