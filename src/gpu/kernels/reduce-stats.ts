import code from '../../../shaders/reduce-stats.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { WORKGROUP } from './grid';
import { reduceLanes } from './loss-layout';

export const reduceStats: KernelDescriptor = {
  name: 'reduce-stats',
  code,
  bindings: ['read', 'write', 'write', 'params'],
};

/**
 * Reduces the per-token records of a whole step to one record; once per step, after its last micro-batch. Read it with
 * `decodeLossStats`; word NON_FINITE_WORD of it tells Adam whether to step.
 * @param slices see `lossBytes`
 * @param tokens trainable tokens P of the step
 */
export function encodeReduceStats(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly stats: GpuSlice; readonly partials: GpuSlice; readonly record: GpuSlice },
  tokens: number,
): void {
  const lanes = reduceLanes(tokens);
  const bindings = [slices.stats, slices.partials, slices.record];
  recorder.dispatch(kernel, bindings, [tokens, lanes, 0], [lanes / WORKGROUP]);
  recorder.dispatch(kernel, bindings, [tokens, lanes, 1], [1]);
}
