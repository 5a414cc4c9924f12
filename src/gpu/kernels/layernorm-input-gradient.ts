import code from '../../../shaders/layernorm-input-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const layernormInputGradient: KernelDescriptor = {
  name: 'layernorm-input-gradient',
  code,
  bindings: ['read', 'read', 'read', 'read', 'write', 'params'],
};

/** Buffers of the layer-norm gradients. */
export interface LayerNormGradientSlices {
  /** [rows, dModel] input of the layer norm. */
  readonly x: GpuSlice;
  /** [rows, 2] from the forward pass. */
  readonly stats: GpuSlice;
  /** [rows, dModel] gradient of the output. */
  readonly dy: GpuSlice;
}

/** dx = gradient of the input, or added to dx (`accumulate`). */
export function encodeLayerNormInputGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: LayerNormGradientSlices & { readonly weight: GpuSlice; readonly dx: GpuSlice },
  sizes: { readonly rows: number; readonly dModel: number; readonly accumulate: boolean },
): void {
  const { workgroups, gridWidth } = laneGrid(sizes.rows);
  recorder.dispatch(
    kernel,
    [slices.x, slices.stats, slices.weight, slices.dy, slices.dx],
    [sizes.rows, sizes.dModel / 4, gridWidth, sizes.accumulate ? 1 : 0],
    workgroups,
  );
}
