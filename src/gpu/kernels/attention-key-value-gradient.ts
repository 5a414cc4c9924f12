import code from '../../../shaders/attention-key-value-gradient.wgsl?raw';
import type { Kernel, KernelDescriptor, Recorder } from '../kernel';
import { type AttentionSizes, attentionDispatch, withHeadWidth } from './attention';
import type { AttentionGradientSlices } from './attention-query-gradient';

/** @param headWidth dModel / heads, a multiple of 4 */
export function attentionKeyValueGradient(headWidth: number): KernelDescriptor {
  return {
    name: 'attention-key-value-gradient',
    code: withHeadWidth(code, headWidth),
    bindings: ['read', 'read', 'read', 'read', 'read', 'write', 'params'],
  };
}

/** The key and value thirds of dqkv. */
export function encodeAttentionKeyValueGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: Omit<AttentionGradientSlices, 'out'>,
  sizes: AttentionSizes,
): void {
  const { records, qkv, lse, dout, dqkv, delta } = slices;
  const { params, workgroups } = attentionDispatch(sizes);
  recorder.dispatch(kernel, [records, qkv, lse, delta, dout, dqkv], params, workgroups);
}
