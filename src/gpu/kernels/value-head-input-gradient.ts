import code from '../../../shaders/value-head-input-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { TokenRange } from './move-rows';

export const valueHeadInputGradient: KernelDescriptor = {
  name: 'value-head-input-gradient',
  code,
  bindings: ['read', 'read', 'write', 'params'],
};

/** dh[i] = gradValues[first + i] · weight, or added to dh (`accumulate`). */
export function encodeValueHeadInputGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly gradValues: GpuSlice; readonly weight: GpuSlice; readonly dh: GpuSlice },
  range: TokenRange,
  options: { readonly dModel: number; readonly accumulate: boolean },
): void {
  const { workgroups, gridWidth } = laneGrid((range.count * options.dModel) / 4);
  recorder.dispatch(
    kernel,
    [slices.gradValues, slices.weight, slices.dh],
    [range.count, range.first, options.dModel / 4, options.accumulate ? 1 : 0, gridWidth],
    workgroups,
  );
}
