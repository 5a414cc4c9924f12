import code from '../../../shaders/embedding-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const embeddingGradient: KernelDescriptor = {
  name: 'embedding-gradient',
  code,
  bindings: ['read', 'read', 'read', 'write', 'params'],
};

/** gradient[v] += sum of dx[order[i]] over start[v] ≤ i < start[v + 1]. */
export function encodeEmbeddingGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: {
    /** [entries + 1] */
    readonly start: GpuSlice;
    /** [tokens] sorted by entry. */
    readonly order: GpuSlice;
    /** [tokens, dModel] */
    readonly dx: GpuSlice;
    /** [entries, dModel] in and out. */
    readonly gradient: GpuSlice;
  },
  sizes: { readonly entries: number; readonly dModel: number },
): void {
  const { workgroups, gridWidth } = laneGrid((sizes.entries * sizes.dModel) / 4);
  recorder.dispatch(
    kernel,
    [slices.start, slices.order, slices.dx, slices.gradient],
    [sizes.entries, sizes.dModel / 4, gridWidth],
    workgroups,
  );
}
