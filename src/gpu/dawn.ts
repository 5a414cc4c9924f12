/**
 * WebGPU in Node: Dawn from the npm package `webgpu`. On machines without a GPU it runs on Mesa's llvmpipe or on the
 * SwiftShader that ships with Chromium; both are Vulkan software adapters.
 */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { paceDawn } from './dawn-pace';

const softwareDrivers = ['/usr/share/vulkan/icd.d/lvp_icd.json', '/usr/lib/chromium/vk_swiftshader_icd.json'];

/**
 * Makes Dawn's `GPU` object and installs the WebGPU globals (GPUBufferUsage, …).
 *
 * `LAB_GPU=hardware` leaves the driver choice to Vulkan; otherwise `VK_DRIVER_FILES`, or the first software driver found,
 * decides, so that results do not depend on which driver the loader happens to prefer.
 */
export async function dawnGpu(): Promise<GPU> {
  process.env.XDG_RUNTIME_DIR ??= tmpdir();
  if (!process.env.VK_DRIVER_FILES && process.env.LAB_GPU !== 'hardware') {
    const driver = softwareDrivers.find((path) => existsSync(path));
    if (driver) process.env.VK_DRIVER_FILES = driver;
  }
  const { create, globals } = await import('webgpu');
  const kept = globalThis as { dawnInstances?: GPU[] };
  if (!kept.dawnInstances) paceDawn(globals as Record<string, unknown>);
  Object.assign(globalThis, globals);
  const gpu = create([]);
  // An instance must outlive every object made from it: collected, it takes the process down. So none is ever let go, also
  // where a second is made while objects of the first live.
  kept.dawnInstances = [...(kept.dawnInstances ?? []), gpu];
  return gpu;
}
