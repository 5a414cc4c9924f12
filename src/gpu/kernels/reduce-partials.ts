import code from '../../../shaders/reduce-partials.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { WeightGradientTarget } from './row-chunks';

export const reducePartials: KernelDescriptor = {
  name: 'reduce-partials',
  code,
  bindings: ['read', 'write', 'params'],
};

/** gradient += sum over chunks of partials [chunks, weights + biases]. */
export function encodeReducePartials(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly partials: GpuSlice; readonly gradient: WeightGradientTarget },
  sizes: { readonly chunks: number; readonly weights: number; readonly biases: number },
): void {
  const { workgroups, gridWidth } = laneGrid(sizes.weights + sizes.biases);
  recorder.dispatch(
    kernel,
    [slices.partials, slices.gradient.slice],
    [sizes.chunks, sizes.weights, sizes.biases, slices.gradient.biasAt, gridWidth],
    workgroups,
  );
}
