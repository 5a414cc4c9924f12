/** What all measured work on the device needs. */
import type { GpuContext } from '../../../gpu/device';
import { type GpuSlice, readBack } from '../../../gpu/kernel';

/** Resolves when everything submitted is done. @throws `gpu.refused` when the device refused any of it */
export async function finish(context: GpuContext): Promise<void> {
  await context.device.queue.onSubmittedWorkDone();
  context.requireHealthy();
}

/** Numbers to measure with: mean 0, so that products stay finite, and no zeros or denormals alone, which run at other speeds. */
export function measuredValues(floats: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: floats }, (_, i) => ((i % 7) - 3) / 64);
}

/** What slices hold, one after another. */
export async function valuesOf(context: GpuContext, slices: readonly GpuSlice[]): Promise<Float32Array> {
  const parts = (await readBack(context, slices)).map((bytes) => new Float32Array(bytes));
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
