import code from '../../../shaders/matmul-input-gradient-subgroup.wgsl?raw';
import type { KernelDescriptor } from '../kernel';
import { groupGrid } from './grid';
import type { encodeMatmulInputGradient } from './matmul-input-gradient';
import { SUBGROUP_TILE } from './matmul-subgroup';
import { matrixSlice } from './matmul-tiled';
import { type SubgroupShape, withSubgroup } from './subgroup';

/** @param shape of the adapter, see `subgroupShape` */
export function matmulInputGradientSubgroup(shape: SubgroupShape): KernelDescriptor {
  return {
    name: 'matmul-input-gradient-subgroup',
    code: withSubgroup(code, shape),
    bindings: ['read', 'read', 'read', 'write', 'params'],
    lanes: shape.lanes,
  };
}

/** As `encodeMatmulInputGradient`, weights handed round the subgroup; they need no UNIFORM usage and no slack. */
export function encodeMatmulInputGradientSubgroup(
  ...[recorder, kernel, slices, sizes]: Parameters<typeof encodeMatmulInputGradient>
): void {
  const { rows, inputs, outputs } = sizes;
  const rowsOfGroup = SUBGROUP_TILE.rows * kernel.descriptor.lanes!;
  const featureTiles = Math.ceil(inputs / SUBGROUP_TILE.columns);
  const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / rowsOfGroup) * featureTiles);
  const flags = (sizes.accumulate ? 1 : 0) | (slices.mask ? 2 : 0);
  recorder.dispatch(
    kernel,
    [slices.dy, matrixSlice(slices.weight, inputs, outputs), slices.mask ?? slices.dy, slices.dx],
    [rows, inputs / 4, outputs / 4, flags, featureTiles, gridWidth],
    workgroups,
  );
}
