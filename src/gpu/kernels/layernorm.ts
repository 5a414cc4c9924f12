import code from '../../../shaders/layernorm.wgsl?raw';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type Recorder } from '../kernel';
import { laneGrid } from './grid';

export const layernorm: KernelDescriptor = {
  name: 'layernorm',
  code,
  bindings: ['read', 'read', 'read', 'write', 'write', 'params'],
};

/** Buffers of `encodeLayerNorm`. */
export interface LayerNormSlices {
  /** [rows, dModel] */
  readonly x: GpuSlice;
  readonly weight: GpuSlice;
  readonly bias: GpuSlice;
  /** [rows, dModel] out. */
  readonly y: GpuSlice;
  /** [rows, 2] out: mean, 1 / standard deviation. */
  readonly stats: GpuSlice;
}

/** y = (x − mean) / sqrt(variance + epsilon) · weight + bias, one row a lane. */
export function encodeLayerNorm(
  recorder: Recorder,
  kernel: Kernel,
  slices: LayerNormSlices,
  sizes: { readonly rows: number; readonly dModel: number; readonly epsilon: number },
): void {
  const { workgroups, gridWidth } = laneGrid(sizes.rows);
  recorder.dispatch(
    kernel,
    [slices.x, slices.weight, slices.bias, slices.y, slices.stats],
    [sizes.rows, sizes.dModel / 4, gridWidth, f32(sizes.epsilon)],
    workgroups,
  );
}
