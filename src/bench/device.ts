/** The device of a benchmark. */
import { adapterName } from '../core/adapter-name';
import { dawnGpu } from '../gpu/dawn';
import { acquireDevice, type GpuContext } from '../gpu/device';

/**
 * Opens the device, runs, and closes it.
 * @param work gets the device, a one-line name of its adapter, and what both came from
 */
export async function withDevice<T>(work: (context: GpuContext, adapter: string, gpu: GPU) => Promise<T>): Promise<T> {
  const gpu = await dawnGpu();
  const context = await acquireDevice(gpu);
  try {
    return await work(context, adapterName(context.adapter), gpu);
  } finally {
    context.dispose();
  }
}
