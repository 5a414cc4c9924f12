import code from '../../../shaders/gradient-norm.wgsl?raw';
import type { GpuSlice, Kernel, KernelDescriptor, Recorder } from '../kernel';
import { WORKGROUP } from './grid';

export const gradientNorm: KernelDescriptor = {
  name: 'gradient-norm',
  code,
  bindings: ['read', 'write', 'write', 'params'],
};

const MAX_LANES = 1024;

/** Bytes of the scratch and of the record. */
export const gradientNormBytes = { partials: MAX_LANES * 8, record: 16 } as const;

/** record = (norm, norm², not finite); `floats` of the gradient, a multiple of 4. */
export function encodeGradientNorm(
  recorder: Recorder,
  kernel: Kernel,
  slices: { readonly gradient: GpuSlice; readonly partials: GpuSlice; readonly record: GpuSlice },
  floats: number,
): void {
  const size4 = floats / 4;
  const lanes = Math.min(MAX_LANES, Math.max(WORKGROUP, Math.ceil(size4 / WORKGROUP) * WORKGROUP));
  const bindings = [slices.gradient, slices.partials, slices.record];
  recorder.dispatch(kernel, bindings, [size4, lanes, 0], [lanes / WORKGROUP]);
  recorder.dispatch(kernel, bindings, [size4, lanes, 1], [1]);
}

/** Reads the record. */
export function decodeGradientNorm(record: ArrayBuffer): { gradNorm: number; nonFinite: boolean } {
  const gradNorm = new Float32Array(record, 0, 1)[0]!;
  return { gradNorm, nonFinite: new Uint32Array(record, 8, 1)[0] !== 0 || !Number.isFinite(gradNorm) };
}
