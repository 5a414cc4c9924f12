import code from '../../../shaders/attention.wgsl?raw';
import subgroupCode from '../../../shaders/attention-subgroup.wgsl?raw';
import { f32, type GpuSlice, type Kernel, type KernelDescriptor, type ParamValue, type Recorder } from '../kernel';
import { groupGrid } from './grid';
import { type SubgroupShape, withSubgroup } from './subgroup';

/** Queries of a workgroup of the kernels without subgroups. */
const ATTENTION_LANES = 64;

/** Private arrays need a constant size: the width of a head goes in front of the text. */
export function withHeadWidth(text: string, headWidth: number): string {
  return `const HEAD_D4 = ${headWidth / 4}u;\n${text}`;
}

/**
 * One of the attention kernels.
 * @param headWidth dModel / heads, a multiple of 4
 * @param subgroup given: the variant whose lanes hand keys round
 */
export function attentionKernel(
  name: string,
  texts: { readonly plain: string; readonly subgroup: string },
  bindings: KernelDescriptor['bindings'],
  headWidth: number,
  subgroup: SubgroupShape | undefined,
): KernelDescriptor {
  return subgroup
    ? {
        name: `${name}-subgroup`,
        code: withSubgroup(withHeadWidth(texts.subgroup, headWidth), subgroup),
        bindings,
        lanes: subgroup.lanes,
      }
    : { name, code: withHeadWidth(texts.plain, headWidth), bindings, lanes: ATTENTION_LANES };
}

/** Forward pass; parameters as in `attentionKernel`. */
export function attention(headWidth: number, subgroup?: SubgroupShape): KernelDescriptor {
  const bindings = ['read', 'read', 'write', 'write', 'params'] as const;
  return attentionKernel('attention', { plain: code, subgroup: subgroupCode }, bindings, headWidth, subgroup);
}

export interface AttentionSizes {
  readonly tokens: number;
  readonly heads: number;
  readonly dModel: number;
}

/** Params and grid that the attention kernels share. */
export function attentionDispatch(
  { descriptor }: Kernel,
  sizes: AttentionSizes,
): { params: ParamValue[]; workgroups: [number, number] } {
  const { workgroups, gridWidth } = groupGrid(Math.ceil(sizes.tokens / descriptor.lanes!) * sizes.heads);
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
  const { params, workgroups } = attentionDispatch(kernel, sizes);
  recorder.dispatch(kernel, [slices.records, slices.qkv, slices.out, slices.lse], params, workgroups);
}
