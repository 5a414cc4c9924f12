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
import { LaneMemory, packLanes, unpackLane } from './decode-lanes';
import type { DecodePath } from './decode-path';

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
  private readonly memory: LaneMemory;

  private constructor(
    private readonly context: GpuContext,
    shape: ModelShape,
    private readonly model: DecodeWorkgroupModel,
    private readonly tile: number,
    private readonly kernel: Kernel,
    private readonly submitMacs: number,
  ) {
    this.memory = new LaneMemory(context, shape, 'decode-workgroup');
  }

  /** The shape must fit (`workgroupFits`). */
  static async create(context: GpuContext, shape: ModelShape, submitMacs: number): Promise<WorkgroupDecode> {
    const sizes = workgroupSizes(shape)!;
    const kernel = await compileDecodeWorkgroup(context, sizes);
    return new WorkgroupDecode(context, shape, workgroupModel(shape), sizes.tile, kernel, submitMacs);
  }

  get bytes(): number {
    return this.memory.buffers.bytes;
  }

  open(slots: number, positions: number): void {
    this.memory.open(slots, positions);
  }

  async run(parameters: GPUBuffer, jobs: readonly DecodeJob[], options: DecodeOptions): Promise<DecodeResult[]> {
    const words = packLanes(jobs, 1);
    const outStride = 1 + jobs.reduce((n, job) => Math.max(n, job.cap), 0);
    const slices = { parameters: whole(parameters), ...this.memory.bind(words, jobs.length * outStride * 16) };
    const steps = jobs.reduce((n, job) => Math.max(n, job.feed.length + job.cap - 1), 0);
    const perSubmit = this.memory.stepsPerSubmit(jobs.length, this.submitMacs);
    for (let begin = 0; begin < steps; begin += perSubmit) {
      const recorder = new Recorder(this.context, 'decode-workgroup');
      encodeDecodeWorkgroup(recorder, this.kernel, this.model, slices, {
        jobs: jobs.length,
        begin,
        end: Math.min(steps, begin + perSubmit),
        slots: this.memory.slots,
        positions: this.memory.positions,
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
    this.memory.buffers.dispose();
  }
}
