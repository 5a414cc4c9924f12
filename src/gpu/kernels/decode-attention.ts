import code from '../../../shaders/decode-attention.wgsl?raw';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type Recorder } from '../kernel';
import { laneGrid } from './grid';

/** @param headWidth multiple of 4 */
export function decodeAttention(headWidth: number): KernelDescriptor {
  return {
    name: 'decode-attention',
    code: `const HEAD_D4 = ${headWidth / 4}u;\n${code}`,
    bindings: ['read', 'read', 'read', 'write', 'params'],
  };
}

/** Attention of each row over positions 0 … position of its cache slot. */
export function encodeDecodeAttention(
  recorder: Recorder,
  kernel: Kernel,
  slices: {
    /** [rows] vec4u (token, previous, position, slot). */
    readonly records: GpuSlice;
    /** [rows, 3 dModel] */
    readonly qkv: GpuSlice;
    /** [slots, positions, 2 dModel] of one layer. */
    readonly cache: GpuSlice;
    /** [rows, dModel] out. */
    readonly out: GpuSlice;
  },
  sizes: { readonly rows: number; readonly dModel: number; readonly heads: number; readonly positions: number },
): void {
  const { rows, dModel, heads, positions } = sizes;
  const { workgroups, gridWidth } = laneGrid(rows * heads);
  recorder.dispatch(
    kernel,
    [slices.records, slices.qkv, slices.cache, slices.out],
    [rows, heads, dModel / 4, positions, gridWidth, f32(1 / Math.sqrt(dModel / heads))],
    workgroups,
  );
}
