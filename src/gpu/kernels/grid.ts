/** Dispatch grids: a linear count of workgroups, wrapped at the limit of a dimension. */

/** Most workgroups in one dimension of a dispatch. */
const MAX_GRID = 65535;

/** Lanes of a workgroup of every kernel that is dispatched by lanes. */
export const WORKGROUP = 64;

/** A grid of at least `groups` workgroups; the shader's index is x + y · gridWidth, and it guards the rest. */
export function groupGrid(groups: number): { workgroups: [number, number]; gridWidth: number } {
  const x = Math.min(groups, MAX_GRID);
  return { workgroups: [x, x === 0 ? 0 : Math.ceil(groups / x)], gridWidth: x };
}

/** Workgroups for at least `lanes` lanes of 64, and the lanes that a line of the grid has. */
export function laneGrid(lanes: number): { workgroups: [number, number]; gridWidth: number } {
  const { workgroups, gridWidth } = groupGrid(Math.ceil(lanes / WORKGROUP));
  return { workgroups, gridWidth: gridWidth * WORKGROUP };
}
