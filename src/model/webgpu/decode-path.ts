/** What the ways of decoding have in common. */
import type { GpuContext } from '../../gpu/device';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';

/**
 * `lane`: one lane per job, small models. `subgroup`: the same, its lanes handing weights round. `workgroup`: one workgroup
 * per job, models whose activations fit into workgroup memory. `layered`: any size, the kernels of the forward pass. They
 * agree within float tolerance, not bit for bit.
 */
export type DecodePathName = 'lane' | 'subgroup' | 'workgroup' | 'layered';

/** One way of decoding. Holds a KV cache and its working buffers; `dispose` frees them. */
export interface DecodePath {
  /** Bytes of device memory held now. */
  readonly bytes: number;
  /** Replaces the KV cache by an empty one. */
  open(slots: number, positions: number): void;
  /** Jobs are valid (see `checkJobs`) and not empty. */
  run(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]>;
  dispose(): void;
}

/** A set of labelled buffers that grow and are counted: the memory of one decode path. */
export class BufferSet {
  private readonly buffers = new Map<string, GPUBuffer>();
  constructor(
    private readonly context: GpuContext,
    private readonly label: string,
  ) {}
  get bytes(): number {
    let total = 0;
    for (const buffer of this.buffers.values()) total += buffer.size;
    return total;
  }
  /** The buffer of that name, of at least `size` bytes; grown at least by half, so that sizes settle. Contents are lost
   *  when it grows. */
  ensure(name: string, size: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const old = this.buffers.get(name);
    if (old && old.size >= size) return old;
    if (old) this.context.destroyBuffer(old);
    const grown = old ? Math.max(size, Math.ceil(old.size * 1.5)) : size;
    const buffer = this.context.createBuffer(`${this.label} ${name}`, grown, usage);
    this.buffers.set(name, buffer);
    return buffer;
  }
  /** Frees one buffer. */
  release(name: string): void {
    const buffer = this.buffers.get(name);
    if (buffer) this.context.destroyBuffer(buffer);
    this.buffers.delete(name);
  }
  dispose(): void {
    for (const buffer of this.buffers.values()) this.context.destroyBuffer(buffer);
    this.buffers.clear();
  }
}

/**
 * Multiply-adds of one submit: about 100 ms on a software adapter (1–2 GMAC/s), far below every GPU watchdog.
 * Bounds how many steps of how many jobs go into one command buffer.
 */
export const SUBMIT_MACS = 2 ** 27;

/** Multiply-adds of one token through the whole model, attention over `positions` keys included. */
export function tokenMacs(shape: ModelShape, positions: number): number {
  const { dModel: d, layers, mlp, vocabulary } = shape;
  return layers * (4 * d * d + 2 * d * mlp + 2 * d * positions) + d * vocabulary;
}
