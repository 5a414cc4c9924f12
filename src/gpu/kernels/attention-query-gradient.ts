import code from '../../../shaders/attention-query-gradient.wgsl?raw';
import subgroupCode from '../../../shaders/attention-query-gradient-subgroup.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { type AttentionSizes, type AttentionSlices, attentionDispatch, attentionKernel } from './attention';
import type { SubgroupShape } from './subgroup';

/** Parameters as in `attentionKernel`. */
export function attentionQueryGradient(headWidth: number, subgroup?: SubgroupShape): KernelDescriptor {
  const bindings = ['read', 'read', 'read', 'read', 'read', 'write', 'write', 'params'] as const;
  const texts = { plain: code, subgroup: subgroupCode };
  return attentionKernel('attention-query-gradient', texts, bindings, headWidth, subgroup);
}

/** Buffers of the two gradient kernels; `out` and `lse` come from the forward pass. */
export interface AttentionGradientSlices extends AttentionSlices {
  /** [tokens, dModel] gradient of `out`. */
  readonly dout: GpuSlice;
  /** [tokens, 3 dModel] out. */
  readonly dqkv: GpuSlice;
  /** [tokens, heads] scratch between the two kernels. */
  readonly delta: GpuSlice;
}

/** The query third of dqkv, and delta. Comes before `encodeAttentionKeyValueGradient`. */
export function encodeAttentionQueryGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: AttentionGradientSlices,
  sizes: AttentionSizes,
): void {
  const { records, qkv, out, lse, dout, dqkv, delta } = slices;
  const { params, workgroups } = attentionDispatch(kernel, sizes);
  recorder.dispatch(kernel, [records, qkv, out, lse, dout, dqkv, delta], params, workgroups);
}
