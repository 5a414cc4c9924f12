import code from '../../../shaders/advantages.wgsl?raw';
import type { AdvantageBatch, AdvantageMode, AdvantageOptions } from '../../core/algorithm/algorithm';
import type { GpuContext } from '../device';
import {
  compileKernel,
  f32,
  type GpuSlice,
  type Kernel,
  type KernelDescriptor,
  Recorder,
  readBack,
  whole,
} from '../kernel';
import { laneGrid } from './grid';

export const advantages: KernelDescriptor = {
  name: 'advantages',
  code,
  bindings: ['read', 'read', 'read', 'read', 'read', 'write', 'write', 'params'],
};

const modeCodes: Readonly<Record<AdvantageMode, number>> = { paper: 0, uncorrected: 1, stitched: 2, 'last-only': 3 };

/** Buffers of `encodeAdvantages`; shapes in shaders/advantages.wgsl. */
export interface AdvantageSlices {
  readonly values: GpuSlice;
  readonly trainableStart: GpuSlice;
  readonly rolloutStart: GpuSlice;
  readonly rewards: GpuSlice;
  /** From `lossOfTrace`. */
  readonly lossOfTrace: GpuSlice;
  readonly advantages: GpuSlice;
  readonly targets: GpuSlice;
}

/** c = 1 − γλ of each row, computed in float64 and rounded once. @returns [R] */
export function lossOfTrace(
  batch: Pick<AdvantageBatch, 'lambda'>,
  options: Pick<AdvantageOptions, 'gamma'>,
): Float32Array<ArrayBuffer> {
  return Float32Array.from(batch.lambda, (lambda) => 1 - options.gamma * lambda);
}

/**
 * Advantages and critic targets of `rollouts` rollouts. Source: Eq. 13–15, docs/algorithm.md section 3.
 */
export function encodeAdvantages(
  recorder: Recorder,
  kernel: Kernel,
  slices: AdvantageSlices,
  rollouts: number,
  options: AdvantageOptions,
): void {
  const { workgroups, gridWidth } = laneGrid(rollouts);
  recorder.dispatch(
    kernel,
    [
      slices.values,
      slices.trainableStart,
      slices.rolloutStart,
      slices.rewards,
      slices.lossOfTrace,
      slices.advantages,
      slices.targets,
    ],
    [rollouts, f32(options.gamma), modeCodes[options.mode], options.valueTarget === 'corrected' ? 1 : 0, gridWidth],
    workgroups,
  );
}

/**
 * Uploads a batch, computes it on the device, reads the result back and frees the buffers: what an engine's `advantages`
 * does. Advantages are computed once per iteration, so the buffers are not kept.
 * @returns [P] advantages (not scaled) and [P] targets
 */
export async function computeAdvantages(
  context: GpuContext,
  batch: AdvantageBatch,
  options: AdvantageOptions,
): Promise<{ advantages: Float32Array<ArrayBuffer>; targets: Float32Array<ArrayBuffer> }> {
  const kernel = await compileKernel(context, advantages);
  const tokens = batch.values.length;
  const buffers: GPUBuffer[] = [];
  const make = (label: string, bytes: number, usage: GPUBufferUsageFlags): GPUBuffer => {
    const buffer = context.createBuffer(`advantages ${label}`, bytes, GPUBufferUsage.STORAGE | usage);
    buffers.push(buffer);
    return buffer;
  };
  const upload = (label: string, data: Float32Array | Uint32Array): GpuSlice => {
    const buffer = make(label, data.byteLength, GPUBufferUsage.COPY_DST);
    context.device.queue.writeBuffer(buffer, 0, data as Float32Array<ArrayBuffer>);
    return whole(buffer);
  };
  try {
    const slices: AdvantageSlices = {
      values: upload('values', batch.values),
      trainableStart: upload('trainableStart', batch.trainableStart),
      rolloutStart: upload('rolloutStart', batch.rolloutStart),
      rewards: upload('rewards', batch.rewards),
      lossOfTrace: upload('lossOfTrace', lossOfTrace(batch, options)),
      advantages: whole(make('advantages', tokens * 4, GPUBufferUsage.COPY_SRC)),
      targets: whole(make('targets', tokens * 4, GPUBufferUsage.COPY_SRC)),
    };
    const recorder = new Recorder(context, 'advantages');
    encodeAdvantages(recorder, kernel, slices, batch.rewards.length, options);
    recorder.submit();
    const [a, t] = await readBack(context, [slices.advantages, slices.targets]);
    return { advantages: new Float32Array(a!, 0, tokens), targets: new Float32Array(t!, 0, tokens) };
  } finally {
    for (const buffer of buffers) context.destroyBuffer(buffer);
  }
}
