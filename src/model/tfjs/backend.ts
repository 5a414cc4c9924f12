/**
 * tfjs on our own GPUDevice. tfjs keeps one backend object per name for the whole process, so one device at a time can
 * be behind it; engines on the same device share it.
 */
import { WebGPUBackend } from '@tensorflow/tfjs-backend-webgpu';
import * as tf from '@tensorflow/tfjs-core';
// After the core, whose flags it reads while loading.
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import { LabError } from '../../core/errors';
import type { GpuContext } from '../../gpu/device';

/** tfjs' tiled matrix product. Chosen always: the kernels that tfjs would pick by shape sum with atomics (so the same
 *  step twice would differ) or depend on the batch around a row, and are slower on software adapters. */
const MATMUL_PACKED = 3;

/** A claim on a tfjs backend; engines hold one each. */
export interface TfjsBackend {
  readonly name: 'webgpu' | 'cpu';
  /** Makes this the backend of the next operations. */
  activate(): Promise<void>;
  /** Bytes that tfjs holds on the device: living tensors and its pool of freed buffers. On the CPU: living tensors. */
  bytes(): number;
  /**
   * Frees the pool of freed buffers when it holds more than `poolBytes`. tfjs keeps them by exact size for ever, so
   * batches of varying shape would fill the memory of a long run. Call between operations.
   */
  trim(poolBytes: number): void;
  /** Gives the claim back; the last one of a device frees tfjs' buffers, never the device. */
  release(): void;
}

let claimed: { readonly device: GPUDevice; readonly backend: WebGPUBackend; claims: number } | undefined;

/**
 * Claims tfjs' backend for a device.
 * @param context the lab's device, or null for tfjs' CPU backend (slow; for machines without WebGPU)
 * @throws `tfjs.device-in-use` while engines on another device are alive
 */
export async function claimBackend(context: GpuContext | null): Promise<TfjsBackend> {
  tf.enableProdMode(); // no advertisement on the console, no second finite check
  if (context === null) {
    await import('@tensorflow/tfjs-backend-cpu');
    return {
      name: 'cpu',
      activate: async () => void (await tf.setBackend('cpu')),
      bytes: () => tf.memory().numBytes,
      trim: () => {},
      release: () => {},
    };
  }
  const { device } = context;
  if (claimed && claimed.claims > 0 && claimed.device !== device)
    throw new LabError({
      code: 'tfjs.device-in-use',
      what: 'tfjs serves one GPU device at a time',
      expected: 'the device of the living tfjs engines',
      got: 'another device',
      fix: 'Dispose the other tfjs engines first.',
    });
  if (claimed?.device !== device) {
    const backend = withNavigatorGpu(() => new WebGPUBackend(device, context.adapter as unknown as GPUAdapterInfo));
    // Importing the package registered a factory that would ask for a device of its own.
    if (tf.findBackendFactory('webgpu')) tf.removeBackend('webgpu');
    tf.registerBackend('webgpu', () => backend, 3);
    claimed = { device, backend, claims: 0 };
  }
  const claim = claimed;
  claim.claims++;
  tf.env().set('WEBGPU_MATMUL_PROGRAM_TYPE', MATMUL_PACKED);
  // Small products on the CPU would be exact in float64 and so differ from the same product in a larger batch.
  tf.env().set('WEBGPU_CPU_FORWARD', false);
  let released = false;
  return {
    name: 'webgpu',
    activate: async () => void (await tf.setBackend('webgpu')),
    bytes: () => (tf.memory() as { numBytesAllocatedInGPU?: number }).numBytesAllocatedInGPU ?? 0,
    trim: (poolBytes) => trimPool(claim.backend, poolBytes),
    release: () => {
      if (released) return;
      released = true;
      claim.claims--;
      if (claim.claims > 0) return;
      tf.removeBackend('webgpu');
      claimed = undefined;
    },
  };
}

/** What tfjs calls private. Read defensively: without it the pool is merely not bounded. */
interface BackendInternals {
  readonly commandEncoder: GPUCommandEncoder | null;
  readonly endComputePassEncoder: () => void;
  readonly bufferManager: {
    readonly freeBuffers?: Map<string, GPUBuffer[]>;
    numFreeBuffers: number;
    numBytesUsed: number;
    numBytesAllocated: number;
  };
}

function trimPool(backend: WebGPUBackend, poolBytes: number): void {
  const { bufferManager: pool, commandEncoder, endComputePassEncoder } = backend as unknown as BackendInternals;
  if (!pool.freeBuffers || pool.numBytesAllocated - pool.numBytesUsed <= poolBytes) return;
  // A recorded command may still use a buffer that counts as free for the commands after it.
  if (commandEncoder) {
    endComputePassEncoder.call(backend); // an open pass would make the whole command buffer invalid
    backend.submitQueue();
  }
  for (const buffers of pool.freeBuffers.values())
    for (const buffer of buffers.splice(0)) {
      pool.numFreeBuffers--;
      pool.numBytesAllocated -= buffer.size;
      buffer.destroy();
    }
}

/** tfjs refuses to construct its backend unless `navigator.gpu` exists; Node has none. Only presence is tested. */
function withNavigatorGpu<T>(build: () => T): T {
  const previous = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  if ((globalThis.navigator as Navigator | undefined)?.gpu) return build();
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: {} }, configurable: true, writable: true });
  try {
    return build();
  } finally {
    if (previous) Object.defineProperty(globalThis, 'navigator', previous);
    else Reflect.deleteProperty(globalThis, 'navigator');
  }
}
