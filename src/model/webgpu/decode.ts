/**
 * Decoding with a KV cache: prefill, then sampling on the GPU. One decoder serves one model role; the parameters are
 * given with every call.
 */
import { Turns } from '../../core/turns';
import type { GpuContext } from '../../gpu/device';
import type { ProductVariant } from '../../gpu/kernels/products';
import { subgroupShape } from '../../gpu/kernels/subgroup';
import { checkJobs, checkSlots } from '../check-decode';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { checkShape } from './check-shape';
import { FusedDecode } from './decode-fused';
import { LayeredDecode } from './decode-layered';
import { type DecodePath, type DecodePathName, SUBMIT_MACS } from './decode-path';
import { WorkgroupDecode } from './decode-workgroup';
import { completeChoices } from './kernel-choices';

export interface DecoderOptions {
  /** Default: the first that fits, see `availableChoices`. */
  readonly path?: DecodePathName;
  /** Matrix product of the layered path. Default: the adapter's. */
  readonly product?: ProductVariant;
  /** Most multiply-adds of one submit; results do not depend on it. Default `SUBMIT_MACS`. */
  readonly submitMacs?: number;
}

/** KV caches of one model and the kernels that extend and sample from them. `dispose` frees the device memory. */
export class Decoder {
  private filled = new Uint32Array(0);
  private positions = 0;
  private readonly turns = new Turns();

  private constructor(
    private readonly shape: ModelShape,
    readonly path: DecodePathName,
    private readonly implementation: DecodePath,
  ) {}

  /**
   * Compiles the kernels of a shape.
   * @throws `model.shape` when the kernels cannot hold the shape, `gpu.choice` when the path asked for does not fit
   */
  static async create(context: GpuContext, shape: ModelShape, options: DecoderOptions = {}): Promise<Decoder> {
    checkShape(shape);
    const { submitMacs = SUBMIT_MACS } = options;
    const { decode: path, matmul } = completeChoices(context.adapter, shape, {
      ...(options.path && { decode: options.path }),
      ...(options.product && { matmul: options.product }),
    });
    const create = (): Promise<DecodePath> => {
      if (path === 'workgroup') return WorkgroupDecode.create(context, shape, submitMacs);
      if (path === 'layered') return LayeredDecode.create(context, shape, matmul, submitMacs);
      const subgroup = path === 'subgroup' ? subgroupShape(context.adapter) : undefined;
      return FusedDecode.create(context, shape, subgroup, submitMacs);
    };
    return new Decoder(shape, path, await create());
  }

  /** Bytes of device memory the decoder holds now, cache included. */
  get bytes(): number {
    return this.implementation.bytes;
  }

  /**
   * Makes room for `slots` caches of `positions` tokens each. The same numbers again change nothing; other numbers give
   * empty caches.
   * @throws `decode.length` when the model has fewer positions
   */
  openSlots(slots: number, positions: number): void {
    if (slots === this.filled.length && positions === this.positions) return;
    checkSlots(this.shape, slots, positions);
    this.implementation.open(slots, positions);
    this.filled = new Uint32Array(slots);
    this.positions = positions;
  }

  /**
   * Feeds and samples every job; results in the order of the jobs. A result does not depend, not even in its last bit,
   * on the other jobs of the call. Calls are queued one after the other.
   * @param parameters flat parameters (parameters.ts); usage STORAGE, UNIFORM and COPY_SRC, with
   *   MODEL_SLACK_BYTES after them (weight-windows.ts)
   * @throws see `checkJobs`; nothing has run then
   */
  decode(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    return this.turns.take(() => this.decodeNow(parameters, jobs, options));
  }

  dispose(): void {
    this.implementation.dispose();
    this.filled = new Uint32Array(0);
    this.positions = 0;
  }

  private async decodeNow(
    parameters: GPUBuffer,
    jobs: readonly DecodeJob[],
    options: DecodeOptions,
  ): Promise<DecodeResult[]> {
    if (jobs.length === 0) return [];
    checkJobs(this.shape, jobs, this.filled, this.positions);
    const results = await this.implementation.run(parameters, jobs, options);
    jobs.forEach((job, i) => {
      this.filled[job.slot] = job.start + job.feed.length + results[i]!.ids.length - 1;
    });
    return results;
  }
}
