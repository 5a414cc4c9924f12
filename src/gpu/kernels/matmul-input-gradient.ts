import code from '../../../shaders/matmul-input-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { groupGrid } from './grid';
import { MATMUL_TILE } from './matmul';
import { weightWindows } from './weight-windows';

export const matmulInputGradient: KernelDescriptor = {
  name: 'matmul-input-gradient',
  code,
  bindings: ['read', 'uniform', 'read', 'write', 'params'],
};

/** Buffers of `encodeMatmulInputGradient`. */
export interface MatmulInputGradientSlices {
  /** [rows, outputs] gradient of the product. */
  readonly dy: GpuSlice;
  /** [inputs, outputs], bound as in `encodeMatmul`. */
  readonly weight: GpuSlice;
  /** [rows, inputs] output of the relu that fed the product: the gradient is zero where this is not positive. */
  readonly mask?: GpuSlice;
  /** [rows, inputs] out; not the buffer of `dy` or `mask`. */
  readonly dx: GpuSlice;
}

/** dx = dy Wᵀ, times (mask > 0); or added to dx. */
export function encodeMatmulInputGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: MatmulInputGradientSlices,
  sizes: { readonly rows: number; readonly inputs: number; readonly outputs: number; readonly accumulate?: boolean },
): void {
  const { rows, inputs, outputs } = sizes;
  const flags = (sizes.accumulate ? 1 : 0) | (slices.mask ? 2 : 0);
  for (const { slice, base, first4, count4 } of weightWindows(slices.weight, inputs, outputs)) {
    const featureTiles = Math.ceil((count4 * 4) / MATMUL_TILE.columns);
    const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / MATMUL_TILE.rows) * featureTiles);
    recorder.dispatch(
      kernel,
      [slices.dy, slice, slices.mask ?? slices.dy, slices.dx],
      [rows, inputs / 4, first4, count4, outputs / 4, base, flags, featureTiles, gridWidth],
      workgroups,
    );
  }
}
