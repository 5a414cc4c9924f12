/** What the paths of one kernel share, whatever runs a job (a lane, a workgroup): memory, job records, results. */
import type { GpuContext } from '../../gpu/device';
import { type GpuSlice, whole } from '../../gpu/kernel';
import { FUSED_JOB_WORDS } from '../../gpu/kernels/decode-fused';
import type { DecodeJob, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { BufferSet, tokenMacs } from './decode-path';

/** KV cache, job records and results. `buffers.dispose` frees them. */
export class LaneMemory {
  readonly buffers: BufferSet;
  slots = 0;
  positions = 0;

  constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
    label: string,
  ) {
    this.buffers = new BufferSet(context, label);
  }

  /** Replaces the cache by an empty one. */
  open(slots: number, positions: number): void {
    this.slots = slots;
    this.positions = positions;
    this.buffers.release('cache');
    const { layers, dModel } = this.shape;
    this.buffers.ensure('cache', layers * slots * positions * 2 * dModel * 4, GPUBufferUsage.STORAGE);
  }

  /** Uploads job records and makes room for results. @param words see `packLanes` */
  bind(words: Uint32Array, outBytes: number): Record<'cache' | 'jobs' | 'out', GpuSlice> {
    const jobs = this.buffers.ensure('jobs', words.byteLength, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
    const out = this.buffers.ensure('out', outBytes, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    this.context.device.queue.writeBuffer(jobs, 0, words as Uint32Array<ArrayBuffer>);
    return {
      cache: whole(this.buffers.ensure('cache', 0, GPUBufferUsage.STORAGE)),
      jobs: whole(jobs),
      out: { buffer: out, offset: 0, size: outBytes },
    };
  }

  /** Steps of all jobs that go into one submit. @param submitMacs multiply-adds of a submit */
  stepsPerSubmit(jobs: number, submitMacs: number): number {
    return Math.max(1, Math.floor(submitMacs / (jobs * tokenMacs(this.shape, this.positions))));
  }
}

/**
 * Job records and fed tokens in lane order, as the shaders of the fused paths read them.
 * @param group neighbouring lanes that leave the prefill together; the first of them has the longest feed
 */
export function packLanes(lanes: readonly DecodeJob[], group: number): Uint32Array {
  const fed = lanes.reduce((n, job) => n + job.feed.length, 0);
  const words = new Uint32Array(lanes.length * FUSED_JOB_WORDS + fed);
  let feedAt = lanes.length * FUSED_JOB_WORDS;
  lanes.forEach((job, lane) => {
    const longest = lanes[lane - (lane % group)]!.feed.length;
    words.set(
      [
        job.slot,
        job.start,
        feedAt,
        job.feed.length,
        job.start > 0 ? job.previous : 0,
        job.stop,
        job.cap,
        longest - job.feed.length,
        job.stream,
        job.index,
      ],
      lane * FUSED_JOB_WORDS,
    );
    words.set(job.feed, feedAt);
    feedAt += job.feed.length;
  });
  return words;
}

/** Reads one lane's samples; `at` in vec4s. */
export function unpackLane(bytes: ArrayBuffer, at: number): DecodeResult {
  const words = new Uint32Array(bytes);
  const floats = new Float32Array(bytes);
  const count = words[at * 4 + 2]!;
  const result = { ids: new Uint32Array(count), logp: new Float32Array(count), values: new Float32Array(count) };
  for (let i = 0; i < count; i++) {
    const word = (at + 1 + i) * 4;
    result.ids[i] = words[word]!;
    result.logp[i] = floats[word + 1]!;
    result.values[i] = floats[word + 2]!;
  }
  return result;
}
