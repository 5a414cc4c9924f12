import code from '../../../shaders/matmul-weight-gradient-subgroup.wgsl?raw';
import type { KernelDescriptor } from '../kernel';
import { groupGrid } from './grid';
import type { encodeMatmulWeightGradient } from './matmul-weight-gradient';
import { encodeReducePartials } from './reduce-partials';
import { rowChunks } from './row-chunks';
import { type SubgroupShape, withSubgroup } from './subgroup';

/** Inputs and outputs of the tile of one lane. */
const TILE = { inputs: 4, outputs: 32 } as const;

/** @param shape of the adapter, see `subgroupShape` */
export function matmulWeightGradientSubgroup(shape: SubgroupShape): KernelDescriptor {
  return {
    name: 'matmul-weight-gradient-subgroup',
    code: withSubgroup(code, shape),
    bindings: ['read', 'read', 'write', 'params'],
    lanes: shape.lanes,
  };
}

/** As `encodeMatmulWeightGradient`, gradients handed round the subgroup; the same chunks of rows and the same partials. */
export function encodeMatmulWeightGradientSubgroup(
  ...[recorder, kernels, slices, sizes]: Parameters<typeof encodeMatmulWeightGradient>
): void {
  const { rows, inputs, outputs } = sizes;
  const { chunkRows, chunks } = rowChunks(rows);
  const inputTiles = Math.ceil(inputs / (TILE.inputs * kernels.partial.descriptor.lanes!));
  const columnTiles = Math.ceil(outputs / TILE.outputs);
  const { workgroups, gridWidth } = groupGrid(inputTiles * columnTiles * chunks);
  recorder.dispatch(
    kernels.partial,
    [slices.x, slices.dy, slices.partials],
    [rows, chunkRows, chunks, inputs / 4, outputs / 4, columnTiles, gridWidth],
    workgroups,
  );
  encodeReducePartials(recorder, kernels.reduce, slices, { chunks, weights: inputs * outputs, biases: outputs });
}
