/** Jobs of layered decoding as the words that its kernels read, and their samples read back. */
import { SAMPLE_JOB_WORDS } from '../../gpu/kernels/sample';
import type { DecodeJob, DecodeResult } from '../engine';

/** Position of a job's last fed token. */
export function basePosition(job: DecodeJob): number {
  return job.start + job.feed.length - 1;
}

/** Where each job's samples begin in the results, in samples. */
export function resultStarts(jobs: readonly DecodeJob[]): number[] {
  let at = 0;
  return jobs.map((job) => {
    const start = at;
    at += job.cap;
    return start;
  });
}

/** Job records of the sample kernel. */
export function jobWords(jobs: readonly DecodeJob[], starts: readonly number[]): Uint32Array {
  const words = new Uint32Array(jobs.length * SAMPLE_JOB_WORDS);
  jobs.forEach((job, i) => {
    words.set([basePosition(job), starts[i]!, job.stop, job.cap, job.stream, job.index], i * SAMPLE_JOB_WORDS);
  });
  return words;
}

/** Reads one job's samples. */
export function unpackSamples(bytes: ArrayBuffer, start: number, count: number): DecodeResult {
  const words = new Uint32Array(bytes, start * 16, count * 4);
  const floats = new Float32Array(bytes, start * 16, count * 4);
  return {
    ids: Uint32Array.from({ length: count }, (_, i) => words[i * 4]!),
    logp: Float32Array.from({ length: count }, (_, i) => floats[i * 4 + 1]!),
    values: Float32Array.from({ length: count }, (_, i) => floats[i * 4 + 2]!),
  };
}
