/**
 * The sole place that asks for an adapter and a device. Everything on the GPU goes through a `GpuContext`, which counts
 * bytes, labels objects and caches pipelines.
 */
import type { AdapterNames } from '../core/adapter-name';
import { LabError } from '../core/errors';

/** What a user is told about the adapter; stored with every run. */
export interface AdapterSummary extends AdapterNames {
  readonly features: readonly string[];
  readonly subgroupMinSize?: number;
  readonly limits: Readonly<Record<(typeof reportedLimits)[number], number>>;
}

const reportedLimits = [
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxUniformBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupsPerDimension',
] as const;

/** Software adapters by what they call themselves: not all browsers mark them as fallback adapters. */
const softwareNames = /llvmpipe|lavapipe|swiftshader|software|basic render|\bwarp\b/i;

const wantedFeatures: readonly GPUFeatureName[] = ['timestamp-query', 'shader-f16', 'subgroups'];

/** A device with bookkeeping. Create with `acquireDevice`; `dispose` destroys it. */
export class GpuContext {
  private allocated = 0;
  private refusal: string | null = null;
  constructor(
    readonly device: GPUDevice,
    readonly adapter: AdapterSummary,
  ) {
    device.addEventListener('uncapturederror', ({ error }) => {
      this.refusal ??= error.message;
    });
  }
  /**
   * WebGPU skips what it refuses (a binding that is too large, no memory left) and goes on: what is read afterwards is
   * wrong without a word. So every read-back asks here.
   * @throws `gpu.refused` with the first refusal since the last call
   */
  requireHealthy(): void {
    const got = this.refusal;
    this.refusal = null;
    if (got !== null)
      throw new LabError({
        code: 'gpu.refused',
        what: 'The graphics device refused an operation, so its results cannot be used',
        got: got.slice(0, 300),
        fix: 'Lower episodes, microBatchTokens or the model size if it lacks memory; otherwise reload. Saved iterations are kept.',
      });
  }
  /** Bytes of all living buffers made by `createBuffer`. */
  get bytes(): number {
    return this.allocated;
  }
  /** A labelled buffer, counted until `destroyBuffer`. `size` in bytes is rounded up to a multiple of 16. */
  createBuffer(label: string, size: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const rounded = Math.max(16, Math.ceil(size / 16) * 16);
    const limit = this.device.limits.maxBufferSize;
    if (rounded > limit)
      throw new LabError({
        code: 'gpu.buffer-too-large',
        what: 'A GPU buffer would exceed what this adapter allows',
        where: label,
        expected: `at most ${limit} bytes`,
        got: `${rounded} bytes`,
        fix: 'Lower episodes, microBatchTokens or the model size.',
      });
    const buffer = this.device.createBuffer({ label, size: rounded, usage });
    this.allocated += rounded;
    return buffer;
  }
  destroyBuffer(buffer: GPUBuffer): void {
    this.allocated -= buffer.size;
    buffer.destroy();
  }
  dispose(): void {
    this.device.destroy();
  }
}

/**
 * Asks for an adapter and a device with the adapter's own limits.
 * @param gpu `navigator.gpu`, or Dawn's object in Node; undefined where WebGPU is missing
 * @throws `gpu.missing` without WebGPU, `gpu.no-adapter` without an adapter
 */
export async function acquireDevice(gpu: GPU | undefined): Promise<GpuContext> {
  if (!gpu)
    throw new LabError({
      code: 'gpu.missing',
      what: 'This browser has no WebGPU',
      expected: 'navigator.gpu',
      got: 'undefined',
      fix: 'Use a current Chrome, Edge, Firefox or Safari, over https or localhost.',
    });
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter)
    throw new LabError({
      code: 'gpu.no-adapter',
      what: 'WebGPU is there but found no graphics adapter',
      fix: 'Switch hardware acceleration on, update the driver, or on Linux install Vulkan drivers.',
    });
  const limits: Record<string, number> = {};
  for (const name of reportedLimits) limits[name] = adapter.limits[name];
  const device = await adapter.requestDevice({
    label: 'compaction-lab',
    requiredFeatures: wantedFeatures.filter((f) => adapter.features.has(f)),
    requiredLimits: limits,
  });
  const info = adapter.info;
  const names = [info.vendor, info.architecture, info.device, info.description].join(' ');
  return new GpuContext(device, {
    vendor: info.vendor,
    architecture: info.architecture,
    description: info.description || info.device,
    features: [...adapter.features].sort(),
    subgroupMinSize: info.subgroupMinSize,
    software: info.isFallbackAdapter || softwareNames.test(names),
    limits: limits as AdapterSummary['limits'],
  });
}
