/** The device of a benchmark. */
import { dawnGpu } from '../gpu/dawn';
import { acquireDevice, type GpuContext } from '../gpu/device';

/**
 * Opens the device, runs, and closes it.
 * @param work gets the device, a one-line name of its adapter, and what both came from
 */
export async function withDevice<T>(work: (context: GpuContext, adapter: string, gpu: GPU) => Promise<T>): Promise<T> {
  const gpu = await dawnGpu();
  const context = await acquireDevice(gpu);
  const { vendor, architecture, description } = context.adapter;
  try {
    return await work(context, [vendor, architecture, description].filter(Boolean).join(' '), gpu);
  } finally {
    context.dispose();
  }
}
