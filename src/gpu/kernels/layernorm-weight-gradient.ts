import code from '../../../shaders/layernorm-weight-gradient.wgsl?raw';
import type { GpuSlice, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';
import type { LayerNormGradientSlices } from './layernorm-input-gradient';
import { encodeReducePartials } from './reduce-partials';
import { type ChunkedKernels, rowChunks, type WeightGradientTarget } from './row-chunks';

export const layernormWeightGradient: KernelDescriptor = {
  name: 'layernorm-weight-gradient',
  code,
  bindings: ['read', 'read', 'read', 'write', 'params'],
};

/** gradient += gradient of weight and bias; scratch `partials` [chunks, 2 dModel]. */
export function encodeLayerNormWeightGradient(
  recorder: Recorder,
  kernels: ChunkedKernels,
  slices: LayerNormGradientSlices & { readonly partials: GpuSlice; readonly gradient: WeightGradientTarget },
  sizes: { readonly rows: number; readonly dModel: number },
): void {
  const { rows, dModel } = sizes;
  const { chunkRows, chunks } = rowChunks(rows);
  const { workgroups, gridWidth } = laneGrid((chunks * dModel) / 4);
  recorder.dispatch(
    kernels.partial,
    [slices.x, slices.stats, slices.dy, slices.partials],
    [rows, chunkRows, chunks, dModel / 4, gridWidth],
    workgroups,
  );
  encodeReducePartials(recorder, kernels.reduce, slices, { chunks, weights: dModel, biases: dModel });
}
