/** Runs single kernels: inputs, outputs full of NaN with sentinels behind them inside the same binding, one read-back. */
import { expect } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import type { GpuContext } from '../../src/gpu/device';
import {
  compileKernel,
  type GpuSlice,
  type Kernel,
  type KernelDescriptor,
  Recorder,
  readBack,
} from '../../src/gpu/kernel';
import { MODEL_SLACK_BYTES } from '../../src/gpu/kernels/weight-windows';

const SENTINELS = 64;
const SENTINEL = 12345.625;

export class KernelBench {
  private readonly buffers: GPUBuffer[] = [];
  constructor(readonly context: GpuContext) {}

  compile(descriptor: KernelDescriptor): Promise<Kernel> {
    return compileKernel(this.context, descriptor);
  }

  input(data: ArrayLike<number> & ArrayBufferView, slack = 0): GpuSlice {
    const usage =
      GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC | (slack ? GPUBufferUsage.UNIFORM : 0);
    const buffer = this.context.createBuffer('input', data.byteLength + slack, usage);
    this.context.device.queue.writeBuffer(buffer, 0, data as unknown as Float32Array<ArrayBuffer>);
    this.buffers.push(buffer);
    return { buffer, offset: 0, size: Math.ceil(data.byteLength / 16) * 16 };
  }

  /** A matrix that can be bound as a uniform window. */
  weights(data: Float32Array): GpuSlice {
    return this.input(data, MODEL_SLACK_BYTES);
  }

  /** NaN everywhere (or `prefill`), then sentinels that the kernel could reach but must not touch. */
  output(count: number, prefill?: Float32Array): GpuSlice {
    const data = new Float32Array(count + SENTINELS).fill(SENTINEL);
    data.fill(Number.NaN, 0, count);
    if (prefill) data.set(prefill);
    return this.input(data);
  }

  /** Submits what `record` records. */
  run(record: (recorder: Recorder) => void): void {
    const recorder = new Recorder(this.context, 'kernel test');
    record(recorder);
    recorder.submit();
  }

  /** The first `count` floats of outputs; fails when a sentinel behind them has changed. */
  async read(...outputs: { slice: GpuSlice; count: number }[]): Promise<Float32Array[]> {
    const bytes = await readBack(
      this.context,
      outputs.map((o) => o.slice),
    );
    return outputs.map(({ count }, i) => {
      const all = new Float32Array(bytes[i]!);
      const touched = all.subarray(count, count + SENTINELS).findIndex((x) => x !== SENTINEL);
      expect(touched, `sentinel ${touched} after ${count} floats was overwritten`).toBe(-1);
      return all.slice(0, count);
    });
  }

  dispose(): void {
    for (const buffer of this.buffers) this.context.destroyBuffer(buffer);
    this.buffers.length = 0;
  }
}

/** Standard normal numbers. */
export function normals(seed: number, count: number, scale = 1): Float32Array {
  const random = new RandomStream(seed, 'test', 3);
  return Float32Array.from({ length: count }, () => scale * random.normal());
}

/** Integers below `limit`. */
export function integers(seed: number, count: number, limit: number): Uint32Array {
  const random = new RandomStream(seed, 'test', 4);
  return Uint32Array.from({ length: count }, () => random.integer(limit));
}
