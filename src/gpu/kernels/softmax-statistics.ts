import code from '../../../shaders/softmax-statistics.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { TokenRange } from './move-rows';

export const softmaxStatistics: KernelDescriptor = {
  name: 'softmax-statistics',
  code,
  bindings: ['read', 'read', 'write', 'write', 'write', 'params'],
};

/** Buffers of `encodeSoftmaxStatistics`; `targets`, `logp` and `entropy` belong to the whole step. */
export interface SoftmaxSlices {
  /** [count, vocabulary] */
  readonly logits: GpuSlice;
  /** [P] token ids. */
  readonly targets: GpuSlice;
  /** [P] out, nats. */
  readonly logp: GpuSlice;
  /** [P] out, nats. */
  readonly entropy: GpuSlice;
  /** [count] out. */
  readonly lse: GpuSlice;
}

/** Log-prob of the targets, entropy and log-sum-exp of each row of logits. */
export function encodeSoftmaxStatistics(
  recorder: Recorder,
  kernel: Kernel,
  slices: SoftmaxSlices,
  range: TokenRange,
  vocabulary: number,
): void {
  const { workgroups, gridWidth } = laneGrid(range.count);
  recorder.dispatch(
    kernel,
    [slices.logits, slices.targets, slices.logp, slices.entropy, slices.lse],
    [range.count, range.first, vocabulary / 4, gridWidth],
    workgroups,
  );
}
