import code from '../../../shaders/attention-key-value-gradient.wgsl?raw';
import subgroupCode from '../../../shaders/attention-key-value-gradient-subgroup.wgsl?raw';
import type { Kernel, KernelDescriptor, Recorder } from '../kernel';
import { type AttentionSizes, attentionDispatch, attentionKernel } from './attention';
import type { AttentionGradientSlices } from './attention-query-gradient';
import type { SubgroupShape } from './subgroup';

/** Parameters as in `attentionKernel`. */
export function attentionKeyValueGradient(headWidth: number, subgroup?: SubgroupShape): KernelDescriptor {
  const bindings = ['read', 'read', 'read', 'read', 'read', 'write', 'params'] as const;
  const texts = { plain: code, subgroup: subgroupCode };
  return attentionKernel('attention-key-value-gradient', texts, bindings, headWidth, subgroup);
}

/** The key and value thirds of dqkv. */
export function encodeAttentionKeyValueGradient(
  recorder: Recorder,
  kernel: Kernel,
  slices: Omit<AttentionGradientSlices, 'out'>,
  sizes: AttentionSizes,
): void {
  const { records, qkv, lse, dout, dqkv, delta } = slices;
  const { params, workgroups } = attentionDispatch(kernel, sizes);
  recorder.dispatch(kernel, [records, qkv, lse, delta, dout, dqkv], params, workgroups);
}
