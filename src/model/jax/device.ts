/** Devices of jax-js. It keeps one backend of each kind for the whole process and asks for its GPU device itself. */
import { type DType, defaultDevice, init, numpy as np } from '@jax-js/jax';
import { LabError } from '../../core/errors';

export type JaxDevice = 'wasm' | 'webgpu';

/**
 * Starts a device of jax-js.
 * @param gpu where to find WebGPU outside of a browser (Node: `dawnGpu()`); a browser has `navigator.gpu`
 * @throws `jax.no-device` when there is none of that kind
 */
export async function startDevice(device: JaxDevice, gpu?: GPU): Promise<void> {
  const navigator = globalThis.navigator as Navigator | undefined;
  // jax-js looks for both properties, now and when it compiles kernels later.
  if (gpu && !navigator?.gpu)
    Object.defineProperty(globalThis, 'navigator', {
      value: { gpu, userAgent: navigator?.userAgent ?? 'node' },
      configurable: true,
      writable: true,
    });
  const wanted = device === 'wasm' || globalThis.navigator?.gpu ? await init(device) : [];
  if (!wanted.includes(device))
    throw new LabError({
      code: 'jax.no-device',
      what: `jax-js finds no ${device} device`,
      expected: device === 'wasm' ? 'WebAssembly' : 'WebGPU with an adapter',
      got: 'none',
      fix: device === 'wasm' ? 'Use a current browser.' : 'Use the wasm device, which needs no graphics adapter.',
    });
}

/** Makes arrays on one device. */
export class ArrayMaker {
  constructor(readonly device: JaxDevice) {}
  /** Constants inside compiled functions are made on the default device: call before anything is compiled. */
  activate(): void {
    defaultDevice(this.device);
  }
  /** @param data copied; its type is the array's */
  of(data: Float32Array | Int32Array, shape: readonly number[] = [data.length]): np.Array {
    return np.array(data as Float32Array<ArrayBuffer>, { shape: [...shape], device: this.device });
  }
  zeros(shape: readonly number[], dtype: DType = np.float32): np.Array {
    return np.zeros([...shape], { device: this.device, dtype });
  }
}

/** Reads float32 data. @param array consumed */
export async function read(array: np.Array): Promise<Float32Array> {
  return (await array.data()) as Float32Array;
}
