/** The device of a benchmark. */
import { dawnGpu } from '../gpu/dawn';
import { acquireDevice, type GpuContext } from '../gpu/device';

/** Opens the device, runs, and closes it. @param work gets the device and a one-line name of its adapter */
export async function withDevice<T>(work: (context: GpuContext, adapter: string) => Promise<T>): Promise<T> {
  const context = await acquireDevice(await dawnGpu());
  const { vendor, architecture, description } = context.adapter;
  try {
    return await work(context, [vendor, architecture, description].filter(Boolean).join(' '));
  } finally {
    context.dispose();
  }
}
