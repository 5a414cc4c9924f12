import code from '../../../shaders/move-rows.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const moveRows: KernelDescriptor = { name: 'move-rows', code, bindings: ['read', 'read', 'write', 'params'] };

/** A range of trainable tokens: entries first .. first + count of the step's arrays. */
export interface TokenRange {
  readonly first: number;
  readonly count: number;
}

/**
 * gather: packed[i] = hidden[index[first + i]]; scatter: hidden[index[first + i]] = packed[i].
 */
export function encodeMoveRows(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly index: GpuSlice; readonly hidden: GpuSlice; readonly packed: GpuSlice },
  range: TokenRange,
  options: { readonly dModel: number; readonly direction: 'gather' | 'scatter' },
): void {
  const { workgroups, gridWidth } = laneGrid((range.count * options.dModel) / 4);
  const scatter = options.direction === 'scatter';
  recorder.dispatch(
    kernel,
    [slices.index, scatter ? slices.packed : slices.hidden, scatter ? slices.hidden : slices.packed],
    [range.count, range.first, options.dModel / 4, scatter ? 1 : 0, gridWidth],
    workgroups,
  );
}
