import code from '../../../shaders/value-head-weight-gradient.wgsl?raw';
import type { GpuSlice, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { TokenRange } from './move-rows';
import { encodeReducePartials } from './reduce-partials';
import { type ChunkedKernels, rowChunks, type WeightGradientTarget } from './row-chunks';

export const valueHeadWeightGradient: KernelDescriptor = {
  name: 'value-head-weight-gradient',
  code,
  bindings: ['read', 'read', 'write', 'params'],
};

/** gradient += gradient of the value head's weight and bias; scratch `partials` [chunks, dModel + 1]. */
export function encodeValueHeadWeightGradient(
  recorder: Recorder,
  kernels: ChunkedKernels,
  slices: {
    readonly h: GpuSlice;
    readonly gradValues: GpuSlice;
    readonly partials: GpuSlice;
    readonly gradient: WeightGradientTarget;
  },
  range: TokenRange,
  dModel: number,
): void {
  const { chunkRows, chunks } = rowChunks(range.count);
  const { workgroups, gridWidth } = laneGrid(chunks * (dModel + 1));
  recorder.dispatch(
    kernels.partial,
    [slices.h, slices.gradValues, slices.partials],
    [range.count, range.first, chunkRows, chunks, dModel, gridWidth],
    workgroups,
  );
  encodeReducePartials(recorder, kernels.reduce, slices, { chunks, weights: dModel, biases: 1 });
}
