import code from '../../../shaders/matmul-weight-gradient.wgsl?raw';
import type { GpuSlice, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import { MATMUL_TILE } from './matmul';
import { encodeReducePartials } from './reduce-partials';
import { type ChunkedKernels, rowChunks, type WeightGradientTarget } from './row-chunks';

export const matmulWeightGradient: KernelDescriptor = {
  name: 'matmul-weight-gradient',
  code,
  bindings: ['read', 'read', 'write', 'params'],
};

/** Floats that `partials` must hold. */
export function matmulPartialFloats(rows: number, inputs: number, outputs: number): number {
  return rowChunks(rows).chunks * (inputs + 1) * outputs;
}

/** gradient += (xᵀ dy, sum of dy); x [rows, inputs], dy [rows, outputs]. */
export function encodeMatmulWeightGradient(
  recorder: Recorder,
  kernels: ChunkedKernels,
  slices: {
    readonly x: GpuSlice;
    readonly dy: GpuSlice;
    /** Scratch, see `matmulPartialFloats`. */
    readonly partials: GpuSlice;
    readonly gradient: WeightGradientTarget;
  },
  sizes: { readonly rows: number; readonly inputs: number; readonly outputs: number },
): void {
  const { rows, inputs, outputs } = sizes;
  const { chunkRows, chunks } = rowChunks(rows);
  const columnTiles = Math.ceil(outputs / MATMUL_TILE.columns);
  const { workgroups, gridWidth } = laneGrid((inputs / 4) * columnTiles * chunks);
  recorder.dispatch(
    kernels.partial,
    [slices.x, slices.dy, slices.partials],
    [rows, chunkRows, chunks, inputs / 4, outputs / 4, columnTiles, gridWidth],
    workgroups,
  );
  encodeReducePartials(recorder, kernels.reduce, slices, { chunks, weights: inputs * outputs, biases: outputs });
}
