import code from '../../../shaders/attention.wgsl?raw';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type ParamValue, type Recorder } from '../kernel';
import { groupGrid } from './grid';

/** Queries of a workgroup. */
const ATTENTION_LANES = 64;

/** Private arrays need a constant size: the width of a head goes in front of the text. */
export function withHeadWidth(text: string, headWidth: number): string {
  return `const HEAD_D4 = ${headWidth / 4}u;\n${text}`;
}

/** @param headWidth dModel / heads, a multiple of 4 */
export function attention(headWidth: number): KernelDescriptor {
  return {
    name: 'attention',
    code: withHeadWidth(code, headWidth),
    bindings: ['read', 'read', 'write', 'write', 'params'],
  };
}

export interface AttentionSizes {
  readonly tokens: number;
  readonly heads: number;
  readonly dModel: number;
}

/** Params and grid that the three attention kernels share. */
export function attentionDispatch(sizes: AttentionSizes): { params: ParamValue[]; workgroups: [number, number] } {
  const { workgroups, gridWidth } = groupGrid(Math.ceil(sizes.tokens / ATTENTION_LANES) * sizes.heads);
  const scale = 1 / Math.sqrt(sizes.dModel / sizes.heads);
  return { params: [sizes.tokens, sizes.heads, sizes.dModel / 4, gridWidth, f32(scale)], workgroups };
}

/** Buffers of `encodeAttention`. */
export interface AttentionSlices {
  /** [tokens] vec4u (token, previous token, position in the row, end of the row as an index into the tokens). */
  readonly records: GpuSlice;
  /** [tokens, 3 dModel] */
  readonly qkv: GpuSlice;
  /** [tokens, dModel] out. */
  readonly out: GpuSlice;
  /** [tokens, heads] out: log of the sum of exponentials. */
  readonly lse: GpuSlice;
}

/** Causal attention of packed rows. */
export function encodeAttention(
  recorder: Recorder,
  kernel: Kernel,
  slices: AttentionSlices,
  sizes: AttentionSizes,
): void {
  const { params, workgroups } = attentionDispatch(sizes);
  recorder.dispatch(kernel, [slices.records, slices.qkv, slices.out, slices.lse], params, workgroups);
}
