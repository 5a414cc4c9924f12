import code from '../../../shaders/matmul-input-gradient-tiled.wgsl?raw';
import type { Kernel, KernelDescriptor, Recorder } from '../kernel';
import { groupGrid } from './grid';
import type { encodeMatmulInputGradient } from './matmul-input-gradient';
import { matrixSlice, SHARED_TILE } from './matmul-tiled';

export const matmulInputGradientTiled: KernelDescriptor = {
  name: 'matmul-input-gradient-tiled',
  code,
  bindings: ['read', 'read', 'read', 'write', 'params'],
};

/** As `encodeMatmulInputGradient`, in tiles of workgroup memory; weights need no UNIFORM usage and no slack. */
export function encodeMatmulInputGradientTiled(
  recorder: Recorder,
  kernel: Kernel,
  slices: Parameters<typeof encodeMatmulInputGradient>[2],
  sizes: Parameters<typeof encodeMatmulInputGradient>[3],
): void {
  const { rows, inputs, outputs } = sizes;
  const flags = (sizes.accumulate ? 1 : 0) | (slices.mask ? 2 : 0);
  const featureTiles = Math.ceil(inputs / SHARED_TILE);
  const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / SHARED_TILE) * featureTiles);
  recorder.dispatch(
    kernel,
    [slices.dy, matrixSlice(slices.weight, inputs, outputs), slices.mask ?? slices.dy, slices.dx],
    [rows, inputs / 4, outputs / 4, flags, featureTiles, gridWidth],
    workgroups,
  );
}
