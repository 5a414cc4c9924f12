import code from '../../../shaders/matmul-tiled.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { groupGrid } from './grid';
import type { encodeMatmul } from './matmul';

export const matmulTiled: KernelDescriptor = {
  name: 'matmul-tiled',
  code,
  bindings: ['read', 'read', 'read', 'read', 'write', 'params'],
};

/** Rows and columns of the tile of one workgroup of the tiled kernels. */
export const SHARED_TILE = 64;

const flags = { residual: 1, relu: 2 } as const;

/** A matrix [inputs, outputs] of 4-byte elements that starts where `weight` does; its size does not matter. */
export function matrixSlice(weight: GpuSlice, inputs: number, outputs: number): GpuSlice {
  return { buffer: weight.buffer, offset: weight.offset, size: inputs * outputs * 4 };
}

/** As `encodeMatmul`, in tiles of workgroup memory; weights need no UNIFORM usage and no slack behind them. */
export function encodeMatmulTiled(
  recorder: Recorder,
  kernel: Kernel,
  slices: Parameters<typeof encodeMatmul>[2],
  sizes: Parameters<typeof encodeMatmul>[3],
): void {
  const { rows, inputs, outputs } = sizes;
  const columnTiles = Math.ceil(outputs / SHARED_TILE);
  const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / SHARED_TILE) * columnTiles);
  const which = (slices.residual ? flags.residual : 0) | (sizes.relu ? flags.relu : 0);
  recorder.dispatch(
    kernel,
    [slices.x, matrixSlice(slices.weight, inputs, outputs), slices.bias, slices.residual ?? slices.bias, slices.y],
    [rows, inputs / 4, outputs / 4, which, columnTiles, gridWidth],
    workgroups,
  );
}
