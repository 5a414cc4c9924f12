/**
 * The loss of one optimiser step on the device, from host arrays to host arrays: what the `loss` command and the tests
 * run. An engine encodes the same kernels between its own forward and backward passes.
 */
import type { LossBatch, LossOptions, LossStats, Numbers } from '../core/algorithm/algorithm';
import type { GpuContext } from './device';
import { compileKernel, type GpuSlice, type Kernel, Recorder, readBack, whole } from './kernel';
import { decodeLossStats, lossBytes, packLossPlanes, packLossRows } from './kernels/loss-layout';
import { encodeLossWeights, lossWeights } from './kernels/loss-weights';
import { encodePpoLoss, ppoLoss } from './kernels/ppo-loss';
import { encodeReduceStats, reduceStats } from './kernels/reduce-stats';

/** The loss kernels of one context. */
export interface LossKernels {
  readonly lossWeights: Kernel;
  readonly ppoLoss: Kernel;
  readonly reduceStats: Kernel;
}

export async function compileLossKernels(context: GpuContext): Promise<LossKernels> {
  const [weights, loss, reduce] = await Promise.all([
    compileKernel(context, lossWeights),
    compileKernel(context, ppoLoss),
    compileKernel(context, reduceStats),
  ]);
  return { lossWeights: weights, ppoLoss: loss, reduceStats: reduce };
}

/** What the model says of each trainable token. All [P]. */
export interface ModelOutputs {
  readonly logp: Numbers;
  readonly entropy: Numbers;
  readonly values: Numbers;
}

/** Loss of a step and its gradient by the model's outputs. All arrays [P]. */
export interface LossResult {
  readonly stats: LossStats;
  readonly gradLogp: Float32Array<ArrayBuffer>;
  readonly gradEntropy: Float32Array<ArrayBuffer>;
  readonly gradValues: Float32Array<ArrayBuffer>;
}

/**
 * Runs the loss kernels over one step.
 * @param microBatchTokens tokens per dispatch of `ppo-loss`; the result does not depend on it
 */
export async function computeStepLoss(
  context: GpuContext,
  batch: LossBatch,
  outputs: ModelOutputs,
  options: LossOptions,
  { kernels, microBatchTokens = Number.POSITIVE_INFINITY }: { kernels?: LossKernels; microBatchTokens?: number } = {},
): Promise<LossResult> {
  const compiled = kernels ?? (await compileLossKernels(context));
  const tokens = batch.oldLogp.length;
  const rows = batch.kind.length;
  const bytes = lossBytes(rows, tokens);
  const buffers: GPUBuffer[] = [];
  const make = (label: string, size: number, usage = 0): GpuSlice => {
    const buffer = context.createBuffer(`loss ${label}`, size, GPUBufferUsage.STORAGE | usage);
    buffers.push(buffer);
    return whole(buffer);
  };
  const upload = (label: string, data: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>): GpuSlice => {
    const slice = make(label, data.byteLength, GPUBufferUsage.COPY_DST);
    context.device.queue.writeBuffer(slice.buffer, 0, data);
    return slice;
  };
  try {
    const slices = {
      rows: upload('rows', packLossRows(batch)),
      planes: upload('planes', packLossPlanes(batch, options)),
      counts: make('counts', bytes.counts),
      stats: make('stats', bytes.stats),
      partials: make('partials', bytes.partials),
      record: make('record', bytes.record, GPUBufferUsage.COPY_SRC),
      logp: upload('logp', Float32Array.from(outputs.logp)),
      entropy: upload('entropy', Float32Array.from(outputs.entropy)),
      values: upload('values', Float32Array.from(outputs.values)),
      gradLogp: make('gradLogp', tokens * 4, GPUBufferUsage.COPY_SRC),
      gradEntropy: make('gradEntropy', tokens * 4, GPUBufferUsage.COPY_SRC),
      gradValues: make('gradValues', tokens * 4, GPUBufferUsage.COPY_SRC),
    };
    const recorder = new Recorder(context, 'loss');
    encodeLossWeights(recorder, compiled.lossWeights, slices, { rows, tokens }, options);
    for (let first = 0; first < tokens; first += microBatchTokens) {
      const range = { tokens, first, count: Math.min(microBatchTokens, tokens - first), modelOffset: first };
      encodePpoLoss(recorder, compiled.ppoLoss, slices, range, options);
    }
    encodeReduceStats(recorder, compiled.reduceStats, slices, tokens);
    recorder.submit();
    const [record, logp, entropy, values] = await readBack(context, [
      slices.record,
      slices.gradLogp,
      slices.gradEntropy,
      slices.gradValues,
    ]);
    return {
      stats: decodeLossStats(record!),
      gradLogp: new Float32Array(logp!, 0, tokens),
      gradEntropy: new Float32Array(entropy!, 0, tokens),
      gradValues: new Float32Array(values!, 0, tokens),
    };
  } finally {
    for (const buffer of buffers) context.destroyBuffer(buffer);
  }
}
