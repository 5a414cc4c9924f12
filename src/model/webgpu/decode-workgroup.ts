/** Decoding by one kernel, one workgroup per job: for hardware. See shaders/decode-fused-workgroup.wgsl. */
import type { GpuContext } from '../../gpu/device';
import type { Kernel } from '../../gpu/kernel';
import { Recorder, readBack, whole } from '../../gpu/kernel';
import {
  compileDecodeWorkgroup,
  type DecodeWorkgroupModel,
  encodeDecodeWorkgroup,
  workgroupSizes,
} from '../../gpu/kernels/decode-fused-workgroup';
import type { DecodeJob, DecodeOptions, DecodeResult } from '../engine';
import { blockParameter, LAYER_NORM_EPSILON, type ModelShape, parameterLayout } from '../parameters';
import { packLanes, unpackLane } from './decode-fused';
import { BufferSet, type DecodePath, tokenMacs } from './decode-path';

/** Whether the activations of a shape fit into the workgroup memory that every device has. */
export function workgroupFits(shape: ModelShape): boolean {
  return workgroupSizes(shape) !== undefined;
}

/** Where the kernel finds the tensors of a shape. */
function workgroupModel(shape: ModelShape): DecodeWorkgroupModel {
  const layout = parameterLayout(shape);
  const at = (name: string) => layout.byName.get(name)!.offset;
  const first = at(blockParameter(0, 'ln_1.weight'));
  return {
    ...shape,
    epsilon: LAYER_NORM_EPSILON,
    wtePrevious: shape.previousToken ? at('wte_prev') : undefined,
    wpe: at('wpe'),
    blocks: { first, stride: (at('ln_f.weight') - first) / shape.layers },
    inBlock: (tensor) => at(blockParameter(0, tensor)) - first,
    at,
  };
}

/** The decode path of one workgroup per job. */
export class WorkgroupDecode implements DecodePath {
  private readonly buffers: BufferSet;
  private slots = 0;
  private positions = 0;

  private constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
    private readonly model: DecodeWorkgroupModel,
    private readonly tile: number,
    private readonly kernel: Kernel,
    private readonly submitMacs: number,
  ) {
    this.buffers = new BufferSet(context, 'decode-workgroup');
  }

  /** The shape must fit (`workgroupFits`). */
  static async create(context: GpuContext, shape: ModelShape, submitMacs: number): Promise<WorkgroupDecode> {
    const sizes = workgroupSizes(shape)!;
    const kernel = await compileDecodeWorkgroup(context, sizes);
    return new WorkgroupDecode(context, shape, workgroupModel(shape), sizes.tile, kernel, submitMacs);
  }

  get bytes(): number {
    return this.buffers.bytes;
  }

  open(slots: number, positions: number): void {
    this.slots = slots;
    this.positions = positions;
    this.buffers.release('cache');
    const { layers, dModel } = this.shape;
    this.buffers.ensure('cache', layers * slots * positions * 2 * dModel * 4, GPUBufferUsage.STORAGE);
  }

  async run(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const words = packLanes(jobs, 1);
    const outStride = 1 + jobs.reduce((n, job) => Math.max(n, job.cap), 0);
    const outBytes = jobs.length * outStride * 16;
    const jobWords = this.buffers.ensure('jobs', words.byteLength, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
    this.context.device.queue.writeBuffer(jobWords, 0, words as Uint32Array<ArrayBuffer>);
    const out = this.buffers.ensure('out', outBytes, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    const slices = {
      parameters: whole(parameters),
      cache: whole(this.buffers.ensure('cache', 0, GPUBufferUsage.STORAGE)),
      jobs: whole(jobWords),
      out: { buffer: out, offset: 0, size: outBytes },
    };
    const steps = jobs.reduce((n, job) => Math.max(n, job.feed.length + job.cap - 1), 0);
    const perSubmit = Math.max(1, Math.floor(this.submitMacs / (jobs.length * tokenMacs(this.shape, this.positions))));
    for (let begin = 0; begin < steps; begin += perSubmit) {
      const recorder = new Recorder(this.context, 'decode-workgroup');
      encodeDecodeWorkgroup(recorder, this.kernel, this.model, slices, {
        jobs: jobs.length,
        begin,
        end: Math.min(steps, begin + perSubmit),
        slots: this.slots,
        positions: this.positions,
        outStride,
        key: options.key,
        tile: this.tile,
      });
      recorder.submit();
    }
    const [bytes] = await readBack(this.context, [slices.out]);
    return jobs.map((_, job) => unpackLane(bytes!, job * outStride));
  }

  dispose(): void {
    this.buffers.dispose();
  }
}
