/**
 * Kernel descriptors, compiled kernels, and a recorder that collects dispatches into one command buffer. A kernel has
 * one name everywhere: shaders/<name>.wgsl, src/gpu/kernels/<name>.ts, its oracle, test and bench.
 */
import { LabError } from '../core/errors';
import type { GpuContext } from './device';

/** Binding i of group 0. The last binding may be `params`: a small uniform struct written per dispatch. */
export type BindingKind = 'read' | 'write' | 'uniform' | 'params';

export interface KernelDescriptor {
  readonly name: string;
  readonly code: string;
  readonly bindings: readonly BindingKind[];
  /** WGSL `override` constants by name; a different set is another pipeline. */
  readonly constants?: Readonly<Record<string, number>>;
  /** Lanes of a workgroup, where they were written into the code for an adapter. */
  readonly lanes?: number;
}

/** A part of a buffer, in bytes. Offsets are multiples of 256. */
export interface GpuSlice {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly size: number;
}

/** A compiled kernel. */
export interface Kernel {
  readonly descriptor: KernelDescriptor;
  readonly layout: GPUBindGroupLayout;
  readonly pipeline: GPUComputePipeline;
}

/** The whole of a buffer as a slice. */
export function whole(buffer: GPUBuffer): GpuSlice {
  return { buffer, offset: 0, size: buffer.size };
}

/** A slice of floats or u32s: `start` and `count` in 4-byte elements; `start` a multiple of 64. */
export function slice4(buffer: GPUBuffer, start: number, count: number): GpuSlice {
  return { buffer, offset: start * 4, size: Math.ceil(count / 4) * 16 };
}

const bufferTypes: Record<BindingKind, GPUBufferBindingType> = {
  read: 'read-only-storage',
  write: 'storage',
  uniform: 'uniform',
  params: 'uniform',
};

const compiled = new WeakMap<GpuContext, Map<string, Promise<Kernel>>>();

/**
 * Compiles a kernel once per context, descriptor name, code and constants.
 * @throws `gpu.shader` with line, column and source line when the WGSL does not compile
 */
export function compileKernel(context: GpuContext, descriptor: KernelDescriptor): Promise<Kernel> {
  let cache = compiled.get(context);
  if (!cache) {
    cache = new Map();
    compiled.set(context, cache);
  }
  // The code is part of the key: generated kernels (decode-fused) and mutated ones (tests) share a name.
  const key = `${descriptor.name} ${JSON.stringify(descriptor.constants ?? {})} ${descriptor.code}`;
  let kernel = cache.get(key);
  if (!kernel) {
    kernel = compile(context, descriptor);
    cache.set(key, kernel);
  }
  return kernel;
}

async function compile(context: GpuContext, descriptor: KernelDescriptor): Promise<Kernel> {
  const { device } = context;
  const label = descriptor.name;
  const module = device.createShaderModule({ label, code: descriptor.code });
  const messages = (await module.getCompilationInfo()).messages.filter((m) => m.type === 'error');
  const first = messages[0];
  if (first) {
    const line = descriptor.code.split('\n')[first.lineNum - 1] ?? '';
    throw new LabError({
      code: 'gpu.shader',
      what: `Shader ${label} does not compile: ${first.message}`,
      where: `shaders/${label}.wgsl:${first.lineNum}:${first.linePos}`,
      got: line.trim(),
    });
  }
  const layout = device.createBindGroupLayout({
    label,
    entries: descriptor.bindings.map((kind, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: bufferTypes[kind] },
    })),
  });
  const pipeline = await device.createComputePipelineAsync({
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
    compute: { module, entryPoint: 'main', constants: { ...descriptor.constants } },
  });
  return { descriptor, layout, pipeline };
}

/** Values of a params struct in order: plain numbers are u32, `f32(x)` marks floats. */
export type ParamValue = number | { readonly f32: number };
export function f32(value: number): ParamValue {
  return { f32: value };
}

const PARAM_STRIDE = 256;

/**
 * Collects dispatches and copies; `submit` sends them as one command buffer. Uniform params are gathered in one buffer
 * and uploaded once. Use one recorder per submit.
 */
export class Recorder {
  private readonly steps: ((encoder: GPUCommandEncoder, pass: () => GPUComputePassEncoder, end: () => void) => void)[] =
    [];
  private readonly params: Uint8Array[] = [];
  private paramBuffer: GPUBuffer | undefined;

  constructor(
    private readonly context: GpuContext,
    private readonly label: string,
  ) {}

  /** Number of recorded dispatches and copies. */
  get length(): number {
    return this.steps.length;
  }

  /**
   * @param bindings slices in binding order, without the params binding
   * @param params values of the params struct, when the kernel has one
   * @param workgroups [x, y, z]; each at most 65,535
   */
  dispatch(
    kernel: Kernel,
    bindings: readonly GpuSlice[],
    params: readonly ParamValue[],
    workgroups: readonly [number, number?, number?],
  ): void {
    const { descriptor, layout, pipeline } = kernel;
    const [x, y = 1, z = 1] = workgroups;
    if (x === 0 || y === 0 || z === 0) return;
    const hasParams = descriptor.bindings[descriptor.bindings.length - 1] === 'params';
    const expected = descriptor.bindings.length - (hasParams ? 1 : 0);
    if (bindings.length !== expected)
      throw new RangeError(`${descriptor.name}: expected ${expected} bindings, got ${bindings.length}`);
    if (Math.max(x, y, z) > 65535) throw new RangeError(`${descriptor.name}: dispatch of ${x}×${y}×${z} workgroups`);
    const entries: GPUBindGroupEntry[] = bindings.map((slice, binding) => ({ binding, resource: slice }));
    const index = hasParams ? this.params.push(packParams(params)) - 1 : -1;
    this.steps.push((_encoder, pass) => {
      if (index >= 0)
        entries.push({
          binding: expected,
          resource: { buffer: this.paramBuffer!, offset: index * PARAM_STRIDE, size: PARAM_STRIDE },
        });
      const p = pass();
      p.setPipeline(pipeline);
      p.setBindGroup(0, this.context.device.createBindGroup({ label: descriptor.name, layout, entries }));
      p.dispatchWorkgroups(x, y, z);
    });
  }

  /** Copies bytes between buffers. */
  copy(from: GpuSlice, to: GpuSlice): void {
    this.steps.push((encoder, _pass, end) => {
      end();
      encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, Math.min(from.size, to.size));
    });
  }

  /** Fills a slice with zero bytes. */
  clear(slice: GpuSlice): void {
    this.steps.push((encoder, _pass, end) => {
      end();
      encoder.clearBuffer(slice.buffer, slice.offset, slice.size);
    });
  }

  /** Encodes and submits everything recorded. The recorder must not be used afterwards. */
  submit(): void {
    const { device } = this.context;
    if (this.params.length > 0) {
      const bytes = new Uint8Array(this.params.length * PARAM_STRIDE);
      this.params.forEach((p, i) => {
        bytes.set(p, i * PARAM_STRIDE);
      });
      this.paramBuffer = this.context.createBuffer(
        `${this.label} params`,
        bytes.byteLength,
        GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      );
      device.queue.writeBuffer(this.paramBuffer, 0, bytes);
    }
    const encoder = device.createCommandEncoder({ label: this.label });
    let open: GPUComputePassEncoder | undefined;
    const pass = () => {
      open ??= encoder.beginComputePass({ label: this.label });
      return open;
    };
    const end = () => {
      open?.end();
      open = undefined;
    };
    for (const step of this.steps) step(encoder, pass, end);
    end();
    device.queue.submit([encoder.finish()]);
    // A submitted command buffer keeps what it needs alive; destroying here frees the memory when the GPU is done.
    if (this.paramBuffer) this.context.destroyBuffer(this.paramBuffer);
  }
}

function packParams(values: readonly ParamValue[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(PARAM_STRIDE));
  values.forEach((value, i) => {
    if (typeof value === 'number') bytes.setUint32(i * 4, value, true);
    else bytes.setFloat32(i * 4, value.f32, true);
  });
  return new Uint8Array(bytes.buffer);
}

/**
 * Copies slices to the host in one map. Pending work in the queue finishes first.
 * @throws `gpu.refused` when the device refused any of it
 */
export async function readBack(context: GpuContext, slices: readonly GpuSlice[]): Promise<ArrayBuffer[]> {
  const total = slices.reduce((n, s) => n + s.size, 0);
  const staging = context.createBuffer('read-back', total, GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ);
  try {
    const encoder = context.device.createCommandEncoder({ label: 'read-back' });
    let at = 0;
    for (const s of slices) {
      encoder.copyBufferToBuffer(s.buffer, s.offset, staging, at, s.size);
      at += s.size;
    }
    context.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    context.requireHealthy();
    const mapped = staging.getMappedRange();
    at = 0;
    return slices.map((s) => {
      const copy = mapped.slice(at, at + s.size);
      at += s.size;
      return copy;
    });
  } finally {
    context.destroyBuffer(staging);
  }
}
