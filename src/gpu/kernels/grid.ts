/** Dispatch grids: a linear count of workgroups, wrapped at the limit of a dimension. */
import { laneGrid } from './loss-layout';

export { laneGrid };

/** Most workgroups in one dimension of a dispatch. */
const MAX_GRID = 65535;

/** A grid of at least `groups` workgroups; the shader's index is x + y · gridWidth, and it guards the rest. */
export function groupGrid(groups: number): { workgroups: [number, number]; gridWidth: number } {
  const x = Math.min(groups, MAX_GRID);
  return { workgroups: [x, x === 0 ? 0 : Math.ceil(groups / x)], gridWidth: x };
}
