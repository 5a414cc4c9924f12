import code from '../../../shaders/value-head.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { TokenRange } from './move-rows';

export const valueHead: KernelDescriptor = {
  name: 'value-head',
  code,
  bindings: ['read', 'read', 'read', 'write', 'params'],
};

/** values[first + i] = h[i] · weight + bias. */
export function encodeValueHead(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly h: GpuSlice; readonly weight: GpuSlice; readonly bias: GpuSlice; readonly values: GpuSlice },
  range: TokenRange,
  dModel: number,
): void {
  const { workgroups, gridWidth } = laneGrid(range.count);
  recorder.dispatch(
    kernel,
    [slices.h, slices.weight, slices.bias, slices.values],
    [range.count, range.first, dModel / 4, gridWidth],
    workgroups,
  );
}
