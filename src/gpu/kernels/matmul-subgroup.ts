import code from '../../../shaders/matmul-subgroup.wgsl?raw';
import type { KernelDescriptor } from '../kernel';
import { groupGrid } from './grid';
import type { encodeMatmul } from './matmul';
import { matrixSlice } from './matmul-tiled';
import { type SubgroupShape, withSubgroup } from './subgroup';

/** Rows, and columns or features, of the tile of one lane. */
export const SUBGROUP_TILE = { rows: 4, columns: 16 } as const;

/** @param shape of the adapter, see `subgroupShape` */
export function matmulSubgroup(shape: SubgroupShape): KernelDescriptor {
  return {
    name: 'matmul-subgroup',
    code: withSubgroup(code, shape),
    bindings: ['read', 'read', 'read', 'read', 'write', 'params'],
    lanes: shape.lanes,
  };
}

const flags = { residual: 1, relu: 2 } as const;

/** As `encodeMatmul`, weights handed round the subgroup; they need no UNIFORM usage and no slack behind them. */
export function encodeMatmulSubgroup(...[recorder, kernel, slices, sizes]: Parameters<typeof encodeMatmul>): void {
  const { rows, inputs, outputs } = sizes;
  const rowsOfGroup = SUBGROUP_TILE.rows * kernel.descriptor.lanes!;
  const columnTiles = Math.ceil(outputs / SUBGROUP_TILE.columns);
  const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / rowsOfGroup) * columnTiles);
  const which = (slices.residual ? flags.residual : 0) | (sizes.relu ? flags.relu : 0);
  recorder.dispatch(
    kernel,
    [slices.x, matrixSlice(slices.weight, inputs, outputs), slices.bias, slices.residual ?? slices.bias, slices.y],
    [rows, inputs / 4, outputs / 4, which, columnTiles, gridWidth],
    workgroups,
  );
}
