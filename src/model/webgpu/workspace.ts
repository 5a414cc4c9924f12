/**
 * Device memory of activations, gradients of activations and scratch. Buffers keep their names and only grow, so that
 * memory is flat once the largest batch has been seen.
 */
import type { GpuContext } from '../../gpu/device';
import { type GpuSlice, whole } from '../../gpu/kernel';
import { gradientNormBytes } from '../../gpu/kernels/gradient-norm';
import { lossBytes } from '../../gpu/kernels/loss-layout';
import { matmulPartialFloats } from '../../gpu/kernels/matmul-weight-gradient';
import type { ModelShape } from '../parameters';
import { BufferSet } from './decode-path';
import type { StepPlan, WordRange } from './step-plan';

/** Default for the most bytes of a logits buffer. */
export const DEFAULT_LOGITS_BYTES = 2 ** 26;

/** Activations of one block that the backward pass needs. Shapes [T, …] with T tokens of a micro-batch. */
export interface LayerActivations {
  /** [T, d] residual stream before the block. */
  readonly x: GpuSlice;
  readonly stats1: GpuSlice;
  readonly h1: GpuSlice;
  readonly qkv: GpuSlice;
  readonly attention: GpuSlice;
  readonly lse: GpuSlice;
  /** [T, d] residual stream between attention and MLP. */
  readonly middle: GpuSlice;
  readonly stats2: GpuSlice;
  readonly h2: GpuSlice;
  /** [T, mlp] after the relu. */
  readonly hidden: GpuSlice;
}

/** Buffers of the head for a chunk of C trainable tokens. */
export interface HeadBuffers {
  /** [C, d] gathered hidden rows. */
  readonly x: GpuSlice;
  readonly stats: GpuSlice;
  readonly h: GpuSlice;
  /** [C, vocabulary], later its gradient. */
  readonly logits: GpuSlice;
  readonly lse: GpuSlice;
  readonly dh: GpuSlice;
  readonly dx: GpuSlice;
}

/** Per trainable token of the whole step. */
export interface TokenOutputs {
  readonly logp: GpuSlice;
  readonly entropy: GpuSlice;
  readonly values: GpuSlice;
}

export class Workspace {
  private readonly buffers: BufferSet;
  constructor(
    private readonly context: GpuContext,
    private readonly shape: ModelShape,
    /** Beyond this, trainable tokens go through the head in several chunks. */
    private readonly maxLogitsBytes: number = DEFAULT_LOGITS_BYTES,
  ) {
    this.buffers = new BufferSet(context, 'workspace');
  }

  get bytes(): number {
    return this.buffers.bytes;
  }

  /** Most tokens of a micro-batch whose largest activation still fits one binding. */
  maxTokens(): number {
    const { dModel, mlp } = this.shape;
    return Math.floor(this.context.device.limits.maxStorageBufferBindingSize / (4 * Math.max(3 * dModel, mlp)));
  }

  /** Trainable tokens that go through the head at once. */
  headChunk(plan: StepPlan): number {
    const limit = Math.min(this.maxLogitsBytes, this.context.device.limits.maxStorageBufferBindingSize);
    return Math.max(1, Math.min(plan.maxCount, Math.floor(limit / (4 * this.shape.vocabulary))));
  }

  /** Uploads the plan's integers. */
  uploadPlan(plan: StepPlan): GPUBuffer {
    const { words } = plan;
    const buffer = this.buffers.ensure('plan', words.byteLength, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
    this.context.device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  }

  layers(tokens: number): LayerActivations[] {
    const { dModel, mlp, heads, layers } = this.shape;
    return Array.from({ length: layers }, (_, l) => ({
      x: this.floats(`layer ${l} x`, tokens * dModel),
      stats1: this.floats(`layer ${l} stats1`, tokens * 2),
      h1: this.floats(`layer ${l} h1`, tokens * dModel),
      qkv: this.floats(`layer ${l} qkv`, tokens * 3 * dModel),
      attention: this.floats(`layer ${l} attention`, tokens * dModel),
      lse: this.floats(`layer ${l} lse`, tokens * heads),
      middle: this.floats(`layer ${l} middle`, tokens * dModel),
      stats2: this.floats(`layer ${l} stats2`, tokens * 2),
      h2: this.floats(`layer ${l} h2`, tokens * dModel),
      hidden: this.floats(`layer ${l} hidden`, tokens * mlp),
    }));
  }

  /** [T, d] residual stream after the last block. */
  output(tokens: number): GpuSlice {
    return this.floats('output', tokens * this.shape.dModel);
  }

  head(count: number): HeadBuffers {
    const { dModel, vocabulary } = this.shape;
    return {
      x: this.floats('head x', count * dModel),
      stats: this.floats('head stats', count * 2),
      h: this.floats('head h', count * dModel),
      logits: this.floats('logits', count * vocabulary),
      lse: this.floats('logits lse', count),
      dh: this.floats('head dh', count * dModel),
      dx: this.floats('head dx', count * dModel),
    };
  }

  outputs(trainable: number): TokenOutputs {
    return {
      logp: this.floats('logp', trainable),
      entropy: this.floats('entropy', trainable),
      values: this.floats('values', trainable),
    };
  }

  /** Gradients of activations of one micro-batch. */
  gradients(tokens: number) {
    const { dModel, mlp, heads } = this.shape;
    return {
      /** Gradient of the residual stream. */
      dx: this.floats('dx', tokens * dModel),
      /** Gradient of a layer norm's or the attention's output. */
      dz: this.floats('dz', tokens * dModel),
      dhidden: this.floats('dhidden', tokens * mlp),
      dqkv: this.floats('dqkv', tokens * 3 * dModel),
      delta: this.floats('delta', tokens * heads),
    };
  }

  /** Scratch of sums over rows: the largest of any weight, for `tokens` body rows and `count` head rows. */
  partials(tokens: number, count: number): GpuSlice {
    const { dModel, mlp, vocabulary } = this.shape;
    const floats = Math.max(
      matmulPartialFloats(tokens, dModel, 3 * dModel),
      matmulPartialFloats(tokens, dModel, mlp),
      matmulPartialFloats(tokens, mlp, dModel),
      matmulPartialFloats(count, dModel, vocabulary),
    );
    return this.floats('partials', floats);
  }

  /** Buffers of the loss of a step of R rows and P trainable tokens. */
  loss(rows: number, trainable: number) {
    const bytes = lossBytes(rows, trainable);
    return {
      rows: this.raw('loss rows', bytes.rows),
      planes: this.raw('loss planes', bytes.planes),
      counts: this.raw('loss counts', bytes.counts),
      stats: this.raw('loss stats', bytes.stats),
      partials: this.raw('loss partials', bytes.partials),
      record: this.raw('loss record', bytes.record),
      gradLogp: this.floats('grad logp', trainable),
      gradEntropy: this.floats('grad entropy', trainable),
      gradValues: this.floats('grad values', trainable),
    };
  }

  norm() {
    return {
      partials: this.raw('norm partials', gradientNormBytes.partials),
      record: this.raw('norm record', gradientNormBytes.record),
    };
  }

  /** The gradient of all parameters, in the layout of the parameters. */
  gradient(floats: number): GPUBuffer {
    return this.raw('gradient', floats * 4).buffer;
  }

  dispose(): void {
    this.buffers.dispose();
  }

  private floats(name: string, count: number): GpuSlice {
    return this.raw(name, Math.max(1, count) * 4);
  }

  private raw(name: string, bytes: number): GpuSlice {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const slice = whole(this.buffers.ensure(name, bytes, usage));
    return { ...slice, size: Math.min(slice.size, Math.ceil(bytes / 16) * 16) };
  }
}

export type ActivationGradients = ReturnType<Workspace['gradients']>;
export type LossBuffers = ReturnType<Workspace['loss']>;

/** A range of the plan's words as a binding. */
export function planSlice(buffer: GPUBuffer, range: WordRange): GpuSlice {
  return { buffer, offset: range.at * 4, size: Math.max(1, range.count) * 4 };
}
