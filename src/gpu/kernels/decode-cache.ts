import code from '../../../shaders/decode-cache.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { laneGrid } from './grid';

export const decodeCache: KernelDescriptor = {
  name: 'decode-cache',
  code,
  bindings: ['read', 'read', 'write', 'params'],
};

/** cache[slot, position] = key and value of each row. */
export function encodeDecodeCache(
  recorder: Recorder,
  kernel: Kernel,
  slices: {
    /** [rows] vec4u (token, previous, position, slot). */
    readonly records: GpuSlice;
    /** [rows, 3 dModel] */
    readonly qkv: GpuSlice;
    /** [slots, positions, 2 dModel] of one layer, out. */
    readonly cache: GpuSlice;
  },
  sizes: { readonly rows: number; readonly dModel: number; readonly positions: number },
): void {
  const { rows, dModel, positions } = sizes;
  const { workgroups, gridWidth } = laneGrid((rows * dModel) / 2);
  recorder.dispatch(
    kernel,
    [slices.records, slices.qkv, slices.cache],
    [rows, dModel / 4, positions, gridWidth],
    workgroups,
  );
}
