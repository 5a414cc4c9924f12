import code from '../../../shaders/logits-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { TokenRange } from './move-rows';

export const logitsGradient: KernelDescriptor = {
  name: 'logits-gradient',
  code,
  bindings: ['write', 'read', 'read', 'read', 'read', 'read', 'params'],
};

/** Replaces logits by their gradient, from dL/dlogp and dL/dH of each row. */
export function encodeLogitsGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: {
    /** [count, vocabulary] in and out. */
    readonly logits: GpuSlice;
    readonly targets: GpuSlice;
    /** [count] */
    readonly lse: GpuSlice;
    readonly entropy: GpuSlice;
    readonly gradLogp: GpuSlice;
    readonly gradEntropy: GpuSlice;
  },
  range: TokenRange,
  vocabulary: number,
): void {
  const { workgroups, gridWidth } = laneGrid((range.count * vocabulary) / 4);
  recorder.dispatch(
    kernel,
    [slices.logits, slices.targets, slices.lse, slices.entropy, slices.gradLogp, slices.gradEntropy],
    [range.count, range.first, vocabulary / 4, gridWidth],
    workgroups,
  );
}
