import code from '../../../shaders/adam.wgsl?raw';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type Recorder } from '../kernel';
import { laneGrid } from './grid';

export const adam: KernelDescriptor = {
  name: 'adam',
  code,
  bindings: ['read', 'read', 'read', 'write', 'write', 'write', 'params'],
};

/** Buffers of `encodeAdam`. */
export interface AdamSlices {
  readonly gradient: GpuSlice;
  /** From `encodeGradientNorm`. */
  readonly normRecord: GpuSlice;
  /** From `encodeReduceStats`. */
  readonly lossRecord: GpuSlice;
  readonly parameters: GpuSlice;
  readonly m: GpuSlice;
  readonly v: GpuSlice;
}

/**
 * One Adam step with clipping by the global norm; nothing is written when loss or gradient is not finite.
 * @param step number of this step, from 1
 * @param floats of a model, a multiple of 4
 */
export function encodeAdam(
  recorder: Recorder,
  kernel: Kernel,
  slices: AdamSlices,
  floats: number,
  step: number,
  options: {
    readonly learningRate: number;
    readonly beta1: number;
    readonly beta2: number;
    readonly epsilon: number;
    readonly gradClip: number;
  },
): void {
  const { learningRate, beta1, beta2, epsilon, gradClip } = options;
  const { workgroups, gridWidth } = laneGrid(floats / 4);
  recorder.dispatch(
    kernel,
    [slices.gradient, slices.normRecord, slices.lossRecord, slices.parameters, slices.m, slices.v],
    [
      floats / 4,
      gridWidth,
      f32(learningRate / (1 - beta1 ** step)),
      f32(beta1),
      f32(beta2),
      f32(1 - beta1),
      f32(1 - beta2),
      f32(1 / (1 - beta2 ** step)),
      f32(epsilon),
      f32(gradClip),
    ],
    workgroups,
  );
}
