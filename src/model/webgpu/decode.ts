/**
 * Decoding with a KV cache: prefill, then sampling on the GPU. One decoder serves one model role; the parameters are
 * given with every call.
 */
import { LabError } from '../../core/errors';
import { Turns } from '../../core/turns';
import type { GpuContext } from '../../gpu/device';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import type { ModelShape } from '../parameters';
import { checkShape } from './check-shape';
import { FusedDecode, fusedFits } from './decode-fused';
import { LayeredDecode } from './decode-layered';
import { checkJobs, checkSlots, type DecodePath, SUBMIT_MACS } from './decode-path';
import { WorkgroupDecode, workgroupFits } from './decode-workgroup';

/** `fused`: one lane per job, small models. `workgroup`: one workgroup per job, models whose activations fit into workgroup
 *  memory. `layered`: any size, the same kernels as the forward pass. */
export type DecodePathName = 'fused' | 'workgroup' | 'layered';

export interface DecoderOptions {
  /** `auto` (default): fused where it fits, else layered. Paths agree within float tolerance, not bit for bit. */
  readonly path?: 'auto' | DecodePathName;
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
   * @throws `model.shape` when the kernels cannot hold the shape, `decode.path` when the path asked for does not fit
   */
  static async create(context: GpuContext, shape: ModelShape, options: DecoderOptions = {}): Promise<Decoder> {
    checkShape(shape);
    const wanted = options.path ?? 'auto';
    const fits = fusedFits(shape);
    if (wanted === 'fused' && !fits)
      throw new LabError({
        code: 'decode.path',
        what: 'The fused decode kernel is for small models',
        expected: 'widths that are multiples of 16, dModel ≤ 64, 64 KiB each of attention, MLP and output weights',
        got: `dModel ${shape.dModel}, ${shape.layers} layers, mlp ${shape.mlp}, vocabulary ${shape.vocabulary}`,
        fix: "Use the path 'auto' or 'layered'.",
      });
    if (wanted === 'workgroup' && !workgroupFits(shape))
      throw new LabError({
        code: 'decode.path',
        what: 'The decode kernel of one workgroup per job holds all activations in workgroup memory',
        expected: 'widths that fit into 16 KiB, such as dModel ≤ 256, mlp and vocabulary ≤ 1024',
        got: `dModel ${shape.dModel}, ${shape.heads} heads, mlp ${shape.mlp}, vocabulary ${shape.vocabulary}`,
        fix: "Use the path 'auto' or 'layered'.",
      });
    const { submitMacs = SUBMIT_MACS } = options;
    if (wanted === 'workgroup')
      return new Decoder(shape, wanted, await WorkgroupDecode.create(context, shape, submitMacs));
    return wanted === 'layered' || !fits
      ? new Decoder(shape, 'layered', await LayeredDecode.create(context, shape, submitMacs))
      : new Decoder(shape, 'fused', await FusedDecode.create(context, shape, submitMacs));
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
