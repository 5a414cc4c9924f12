import code from '../../../shaders/attention-query-gradient.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { type AttentionSizes, type AttentionSlices, attentionDispatch, withHeadWidth } from './attention';

/** @param headWidth dModel / heads, a multiple of 4 */
export function attentionQueryGradient(headWidth: number): KernelDescriptor {
  return {
    name: 'attention-query-gradient',
    code: withHeadWidth(code, headWidth),
    bindings: ['read', 'read', 'read', 'read', 'read', 'write', 'write', 'params'],
  };
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
  const { params, workgroups } = attentionDispatch(sizes);
  recorder.dispatch(kernel, [records, qkv, out, lse, dout, dqkv, delta], params, workgroups);
}
