/**
 * Sampling on the host, in float64, with the same draws as our kernels: tokens agree unless a draw falls on a boundary of
 * the cumulative distribution.
 */
import { threefry, unitFloat } from '../../core/rng';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';

/** One job on its way. */
export interface Sampling {
  readonly job: DecodeJob;
  readonly ids: number[];
  readonly logp: number[];
  readonly values: number[];
  done: boolean;
}

export function startSampling(job: DecodeJob): Sampling {
  return { job, ids: [], logp: [], values: [], done: false };
}

/**
 * Samples the next token of a job.
 * @param output [rows, vocabulary + 1] log-probs and the value
 * @param row the job's
 */
export function sampleNext(
  sampling: Sampling,
  output: Float32Array,
  row: number,
  vocabulary: number,
  { key }: DecodeOptions,
): void {
  const { job, ids, logp, values } = sampling;
  const at = row * (vocabulary + 1);
  const distribution = output.subarray(at, at + vocabulary);
  const draw = unitFloat(threefry(key[0], key[1], job.stream, job.index + ids.length)[0]);
  const id = inverseCdf(distribution, draw);
  ids.push(id);
  logp.push(distribution[id]!);
  values.push(output[at + vocabulary]!);
  sampling.done = id === job.stop || ids.length === job.cap;
}

/**
 * What finished jobs sampled.
 * @param filled [slots] positions of each cache that hold a key and value; written for the slots of the jobs
 */
export function finishSampling(samplings: readonly Sampling[], filled: Uint32Array): DecodeResult[] {
  return samplings.map(({ job, ids, logp, values }) => {
    // The last sampled token has not been fed: the next call brings it.
    filled[job.slot] = job.start + job.feed.length + ids.length - 1;
    return { ids: Uint32Array.from(ids), logp: Float32Array.from(logp), values: Float32Array.from(values) };
  });
}

/** The first token whose cumulative probability exceeds the draw; the last token when rounding leaves none. */
function inverseCdf(logp: Float32Array, draw: number): number {
  let cumulative = 0;
  for (let id = 0; id < logp.length; id++) {
    cumulative += Math.exp(logp[id]!);
    if (cumulative > draw) return id;
  }
  return logp.length - 1;
}
