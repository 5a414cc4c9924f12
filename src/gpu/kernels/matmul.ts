import code from '../../../shaders/matmul.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { groupGrid } from './grid';
import { weightWindows } from './weight-windows';

export const matmul: KernelDescriptor = {
  name: 'matmul',
  code,
  bindings: ['read', 'uniform', 'read', 'read', 'write', 'params'],
};

/** Rows and columns of the tile of one workgroup. */
export const MATMUL_TILE = { rows: 128, columns: 8 } as const;

const flags = { bias: 1, residual: 2, accumulate: 4, relu: 8 } as const;

/** Buffers of `encodeMatmul`. */
export interface MatmulSlices {
  /** [rows, inputs] */
  readonly x: GpuSlice;
  /** [inputs, outputs]: the start of the matrix in a buffer with UNIFORM usage and `MODEL_SLACK_BYTES` at its end. */
  readonly weight: GpuSlice;
  /** [outputs] */
  readonly bias: GpuSlice;
  /** [rows, outputs] added to the product; not the buffer of `y`. */
  readonly residual?: GpuSlice;
  /** [rows, outputs] out; not the buffer of `x`. */
  readonly y: GpuSlice;
}

/** y = x W + bias (+ residual), then relu if asked. `inputs` and `outputs` are multiples of 4. */
export function encodeMatmul(
  recorder: Recorder,
  kernel: Kernel,
  slices: MatmulSlices,
  sizes: { readonly rows: number; readonly inputs: number; readonly outputs: number; readonly relu?: boolean },
): void {
  const { rows, inputs, outputs } = sizes;
  const windows = weightWindows(slices.weight, inputs, outputs);
  const columnTiles = Math.ceil(outputs / MATMUL_TILE.columns);
  const { workgroups, gridWidth } = groupGrid(Math.ceil(rows / MATMUL_TILE.rows) * columnTiles);
  windows.forEach((window, i) => {
    const first = i === 0 ? flags.bias | (slices.residual ? flags.residual : 0) : flags.accumulate;
    const last = i === windows.length - 1 && sizes.relu ? flags.relu : 0;
    recorder.dispatch(
      kernel,
      [slices.x, window.slice, slices.bias, slices.residual ?? slices.bias, slices.y],
      [rows, inputs / 4, window.first4, window.count4, outputs / 4, window.base, first | last, columnTiles, gridWidth],
      workgroups,
    );
  });
}
