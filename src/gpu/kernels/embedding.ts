import code from '../../../shaders/embedding.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const embedding: KernelDescriptor = {
  name: 'embedding',
  code,
  bindings: ['read', 'read', 'read', 'read', 'write', 'params'],
};

/** Buffers of `encodeEmbedding`. */
export interface EmbeddingSlices {
  /** [rows] vec4u (token, previous token, position, free). */
  readonly records: GpuSlice;
  readonly wte: GpuSlice;
  /** Absent in models without the previous-token embedding. */
  readonly wtePrevious: GpuSlice | undefined;
  readonly wpe: GpuSlice;
  /** [rows, dModel] out. */
  readonly x: GpuSlice;
}

/** x = wte[token] + wpe[position] (+ wte_prev[previous]). */
export function encodeEmbedding(
  recorder: Recorder,
  kernel: Kernel,
  slices: EmbeddingSlices,
  sizes: { readonly rows: number; readonly dModel: number },
): void {
  const { workgroups, gridWidth } = laneGrid((sizes.rows * sizes.dModel) / 4);
  recorder.dispatch(
    kernel,
    [slices.records, slices.wte, slices.wtePrevious ?? slices.wte, slices.wpe, slices.x],
    [sizes.rows, sizes.dModel / 4, slices.wtePrevious ? 1 : 0, gridWidth],
    workgroups,
  );
}
