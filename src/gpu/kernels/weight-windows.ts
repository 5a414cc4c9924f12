/**
 * Windows of a weight matrix that fit a uniform binding. A window always binds 64 KiB, so model buffers end with that
 * much slack (`MODEL_SLACK_BYTES`).
 */
import type { GpuSlice } from '../kernel';

/** Floats4 (16 bytes) of a uniform window: 64 KiB, the limit every WebGPU device has. */
export const WINDOW_VEC4 = 4096;

/** Bytes a parameter buffer must have after its last tensor, so that any tensor can be bound as a window. */
export const MODEL_SLACK_BYTES = WINDOW_VEC4 * 16;

/** Widest matrix (output features) that the kernels take: four rows must fit a window. */
export const MAX_OUTPUTS = 4080;

/** Rows [first4, first4 + count4) of a matrix, in units of four rows, with the window that holds them. */
export interface WeightWindow {
  readonly slice: GpuSlice;
  /** Index of the first of these weights in the window, in vec4. */
  readonly base: number;
  readonly first4: number;
  readonly count4: number;
}

/**
 * Cuts a row-major [inputs, outputs] matrix into windows.
 * @param weight starts at the matrix; its size does not matter
 * @param inputs multiple of 4
 * @param outputs multiple of 4, at most MAX_OUTPUTS
 */
export function weightWindows(weight: GpuSlice, inputs: number, outputs: number): WeightWindow[] {
  const rowVec4 = outputs / 4;
  const inputs4 = inputs / 4;
  // A window starts at a multiple of 256 bytes (16 vec4); 15 vec4 may lie before the weights, unless it starts with them.
  const fits = inputs * rowVec4 <= WINDOW_VEC4;
  const count4 = fits ? inputs4 : Math.floor((WINDOW_VEC4 - 15) / (4 * rowVec4));
  if (count4 < 1) throw new RangeError(`weightWindows: ${outputs} outputs, at most ${MAX_OUTPUTS}`);
  const windows: WeightWindow[] = [];
  for (let first4 = 0; first4 < inputs4; first4 += count4) {
    const bytes = first4 * 4 * rowVec4 * 16;
    const base = (bytes % 256) / 16;
    const offset = weight.offset + bytes - base * 16;
    if (offset + MODEL_SLACK_BYTES > weight.buffer.size)
      throw new RangeError(`weightWindows: no slack after the weights in ${weight.buffer.label}`);
    windows.push({
      slice: { buffer: weight.buffer, offset, size: MODEL_SLACK_BYTES },
      base,
      first4,
      count4: Math.min(count4, inputs4 - first4),
    });
  }
  return windows;
}
