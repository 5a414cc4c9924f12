/** What all measured work on the device needs. */
import type { GpuContext } from '../../../gpu/device';

/** Resolves when everything submitted is done. @throws `gpu.refused` when the device refused any of it */
export async function finish(context: GpuContext): Promise<void> {
  await context.device.queue.onSubmittedWorkDone();
  context.requireHealthy();
}

/** Numbers to measure with: mean 0, so that products stay finite, and no zeros or denormals alone, which run at other speeds. */
export function measuredValues(floats: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: floats }, (_, i) => ((i % 7) - 3) / 64);
}
