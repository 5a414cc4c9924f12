/** Device arrays for kernel tests: outputs prefilled with NaN, and NaN sentinels after their end. */
import type { GpuContext } from '../../src/gpu/device';
import { type GpuSlice, type KernelDescriptor, readBack, whole } from '../../src/gpu/kernel';

const SENTINELS = 64;

/** Buffers of one test; `dispose` frees them. */
export class DeviceArrays {
  private readonly buffers: GPUBuffer[] = [];
  constructor(private readonly context: GpuContext) {}

  /** An input, followed by NaN: what lies behind an array must not be read as if it belonged to it. */
  input(data: Float32Array | Uint32Array): GpuSlice {
    const padded = new Uint32Array(data.length + SENTINELS).fill(0x7fc00000);
    padded.set(new Uint32Array(data.buffer, data.byteOffset, data.length));
    return this.upload(padded);
  }

  /** An output of n floats, all NaN, with sentinels after the end. */
  output(n: number): GpuSlice {
    return this.upload(new Uint32Array(n + SENTINELS).fill(0x7fc00000));
  }

  private upload(words: Uint32Array<ArrayBuffer>): GpuSlice {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = this.context.createBuffer('test', words.byteLength, usage);
    this.buffers.push(buffer);
    this.context.device.queue.writeBuffer(buffer, 0, words);
    return whole(buffer);
  }

  /** The first n floats of each output. @throws when anything was written behind them */
  async read(slices: readonly GpuSlice[], n: number): Promise<Float32Array[]> {
    const bytes = await readBack(this.context, slices);
    return bytes.map((b, i) => {
      const floats = new Float32Array(b);
      for (let at = n; at < n + SENTINELS; at++)
        if (!Number.isNaN(floats[at])) throw new Error(`output ${i}: [${at}] behind the end ${n} was written`);
      return floats.subarray(0, n);
    });
  }

  dispose(): void {
    for (const buffer of this.buffers) this.context.destroyBuffer(buffer);
  }
}

/** The kernel with one piece of its source replaced, to show that a test would notice. @throws when it is not there once */
export function mutate(kernel: KernelDescriptor, from: string, to: string): KernelDescriptor {
  if (kernel.code.split(from).length !== 2) throw new Error(`${kernel.name}: "${from}" does not occur exactly once`);
  return { ...kernel, name: `${kernel.name} with ${to}`, code: kernel.code.replace(from, to) };
}
