/** What the ways of decoding have in common, and the checks every call passes first. */
import { LabError } from '../../core/errors';
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

/** @throws `decode.length` when a cache slot would have more positions than the model has learned, or there would be none */
export function checkSlots(shape: ModelShape, slots: number, positions: number): void {
  if (positions <= shape.positions && slots >= 1 && positions >= 1) return;
  throw new LabError({
    code: 'decode.length',
    what: 'A cache slot cannot have that many positions',
    expected: `at least one slot and 1 to ${shape.positions} positions, as many as the model has learned`,
    got: `${slots} slots of ${positions} positions`,
  });
}

/**
 * Checks jobs against the cache: slots, lengths, token ids, continuity.
 * @param filled [slots] cache positions that hold a key and value
 * @throws `decode.slot | decode.feed | decode.start | decode.length | decode.cap`
 */
export function checkJobs(shape: ModelShape, jobs: readonly DecodeJob[], filled: Uint32Array, positions: number): void {
  const seen = new Set<number>();
  for (const [i, job] of jobs.entries()) {
    const failure = (code: string, what: string, expected: string, got: unknown) =>
      new LabError({ code: `decode.${code}`, what, where: `decode job ${i}`, expected, got: String(got) });
    const { slot, start, feed, cap } = job;
    const known = filled[slot];
    if (known === undefined)
      throw failure('slot', 'There is no such cache slot', `one of the ${filled.length} slots opened`, slot);
    if (seen.has(slot)) throw failure('slot', 'A cache slot is used twice in one call', 'each at most once', slot);
    seen.add(slot);
    if (feed.length === 0) throw failure('feed', 'A decode job feeds nothing', 'at least one token', 0);
    if (!Number.isInteger(cap) || cap < 1) throw failure('cap', 'A decode job may not sample', 'a cap ≥ 1', cap);
    if (!Number.isInteger(start) || start < 0 || start > known)
      throw failure('start', 'A decode job continues beyond what its slot holds', `a start ≤ ${known}`, start);
    // The last sampled token is never fed, so it needs no position.
    const needed = start + feed.length + cap - 1;
    if (needed > positions)
      throw failure('length', 'A decode job does not fit into its slot', `at most ${positions} positions`, needed);
    for (const id of start > 0 ? [job.previous, ...feed] : feed)
      if (!(id >= 0 && id < shape.vocabulary))
        throw failure('feed', 'A fed token is not in the vocabulary', `an id below ${shape.vocabulary}`, id);
  }
}
