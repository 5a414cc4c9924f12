import code from '../../../shaders/matmul-weight-gradient-tiled.wgsl?raw';
import type { KernelDescriptor, Recorder } from '../kernel';
import { groupGrid } from './grid';
import { SHARED_TILE } from './matmul-tiled';
import type { encodeMatmulWeightGradient } from './matmul-weight-gradient';
import { encodeReducePartials } from './reduce-partials';
import { type ChunkedKernels, rowChunks } from './row-chunks';

export const matmulWeightGradientTiled: KernelDescriptor = {
  name: 'matmul-weight-gradient-tiled',
  code,
  bindings: ['read', 'read', 'write', 'params'],
};

/** As `encodeMatmulWeightGradient`, in tiles of workgroup memory; the same chunks of rows and the same partials. */
export function encodeMatmulWeightGradientTiled(
  recorder: Recorder,
  kernels: ChunkedKernels,
  slices: Parameters<typeof encodeMatmulWeightGradient>[2],
  sizes: Parameters<typeof encodeMatmulWeightGradient>[3],
): void {
  const { rows, inputs, outputs } = sizes;
  const { chunkRows, chunks } = rowChunks(rows);
  const inputTiles = Math.ceil(inputs / SHARED_TILE);
  const columnTiles = Math.ceil(outputs / SHARED_TILE);
  const { workgroups, gridWidth } = groupGrid(inputTiles * columnTiles * chunks);
  recorder.dispatch(
    kernels.partial,
    [slices.x, slices.dy, slices.partials],
    [rows, chunkRows, chunks, inputs / 4, outputs / 4, inputTiles, columnTiles, gridWidth],
    workgroups,
  );
  encodeReducePartials(recorder, kernels.reduce, slices, { chunks, weights: inputs * outputs, biases: outputs });
}
