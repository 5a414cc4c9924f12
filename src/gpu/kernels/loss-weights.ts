import code from '../../../shaders/loss-weights.wgsl?raw';
import type { LossNorm, LossOptions } from '../../core/algorithm/algorithm';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const lossWeights: KernelDescriptor = {
  name: 'loss-weights',
  code,
  bindings: ['read', 'write', 'write', 'params'],
};

const normCodes: Readonly<Record<LossNorm, number>> = { token: 0, segment: 1, rollout: 2, split: 3 };

/**
 * Writes the planes `policyWeight` and `valueWeight` of the whole step; once per step, before its first micro-batch.
 * Source: Eq. 11–12, docs/algorithm.md section 4.
 * @param slices see `lossBytes`
 * @param sizes rows R and trainable tokens P of the step
 */
export function encodeLossWeights(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly rows: GpuSlice; readonly counts: GpuSlice; readonly planes: GpuSlice },
  sizes: { readonly rows: number; readonly tokens: number },
  options: Pick<LossOptions, 'lossNorm' | 'trainSummary'>,
): void {
  const { workgroups, gridWidth } = laneGrid(sizes.rows);
  const bindings = [slices.rows, slices.counts, slices.planes];
  const params = (phase: number) => [
    sizes.rows,
    sizes.tokens,
    normCodes[options.lossNorm],
    options.trainSummary ? 1 : 0,
    phase,
    gridWidth,
  ];
  recorder.dispatch(kernel, bindings, params(0), [1]);
  recorder.dispatch(kernel, bindings, params(1), workgroups);
}
