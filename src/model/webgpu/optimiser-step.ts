/** One optimiser step: loss weights of the whole step, micro-batches, statistics, gradient norm, Adam. */
import { LabError } from '../../core/errors';
import type { GpuContext } from '../../gpu/device';
import { Recorder, readBack } from '../../gpu/kernel';
import { encodeAdam } from '../../gpu/kernels/adam';
import { decodeGradientNorm, encodeGradientNorm } from '../../gpu/kernels/gradient-norm';
import { decodeLossStats, packLossPlanes, packLossRows } from '../../gpu/kernels/loss-layout';
import { encodeLossWeights } from '../../gpu/kernels/loss-weights';
import { encodePpoLoss, hasPolicyTerms } from '../../gpu/kernels/ppo-loss';
import { encodeReduceStats } from '../../gpu/kernels/reduce-stats';
import type { LossOptions, OptimiserOptions, UpdateBatch, UpdateStats } from '../engine';
import { type ModelShape, parameterLayout } from '../parameters';
import { encodeBlockGradient, encodeHeadGradient, type GradientContext } from './backward';
import { checkBatch } from './check-rows';
import { encodeBlock, encodeHead, headRanges } from './forward';
import { FlatTensors, type ModelBuffers } from './model-buffers';
import { planStep } from './step-plan';
import type { TransformerKernels } from './transformer-kernels';
import type { LossBuffers, Workspace } from './workspace';

/** What a step works with. */
export interface StepContext {
  readonly context: GpuContext;
  readonly shape: ModelShape;
  readonly kernels: TransformerKernels;
  readonly workspace: Workspace;
  readonly microBatchTokens: number;
}

/** The gradient of one optimiser step, without applying it. */
export async function runGradient(
  step: StepContext,
  model: ModelBuffers,
  batch: UpdateBatch,
  loss: LossOptions,
): Promise<{ stats: UpdateStats; gradient: Float32Array }> {
  const { gradient, buffers } = submitGradient(step, model, batch, loss);
  const norm = submitNorm(step, gradient);
  const [record, normRecord, values] = await readBack(step.context, [buffers.record, norm.record, gradient.all]);
  return { stats: decodeStats(record!, normRecord!), gradient: new Float32Array(values!) };
}

/** One optimiser step; the parameters are left as they were when loss or gradient is not finite. */
export async function runUpdate(
  step: StepContext,
  model: ModelBuffers,
  batch: UpdateBatch,
  loss: LossOptions,
  options: OptimiserOptions,
): Promise<UpdateStats> {
  const { gradient, buffers } = submitGradient(step, model, batch, loss);
  const norm = submitNorm(step, gradient);
  const { m, v } = model.optimiser();
  const recorder = new Recorder(step.context, 'adam');
  encodeAdam(
    recorder,
    step.kernels.adam,
    {
      gradient: gradient.all,
      normRecord: norm.record,
      lossRecord: buffers.record,
      parameters: model.parameters.all,
      m: m.all,
      v: v.all,
    },
    gradient.layout.total,
    model.step + 1,
    options,
  );
  recorder.submit();
  const [record, normRecord] = await readBack(step.context, [buffers.record, norm.record]);
  const stats = decodeStats(record!, normRecord!);
  if (!stats.nonFinite) model.step += 1;
  return stats;
}

/** Submits everything up to the gradient and the loss record. */
function submitGradient(
  step: StepContext,
  model: ModelBuffers,
  batch: UpdateBatch,
  loss: LossOptions,
): { gradient: FlatTensors; buffers: LossBuffers } {
  const { context, shape, kernels, workspace, microBatchTokens } = step;
  checkBatch(batch, shape);
  const wanted = { policy: hasPolicyTerms(loss), value: loss.valueCoef !== 0 };
  if (!wanted.policy && !wanted.value)
    throw new LabError({
      code: 'loss.empty',
      what: 'The loss has no term',
      expected: 'one of policyCoef, valueCoef, entropyCoef, klCoef not 0',
      got: 'all 0',
    });
  const rows = batch.kind.length;
  const tokens = batch.trainable.length;
  const plan = planStep(batch, shape, { microBatchTokens, gradient: true });
  const layout = parameterLayout(shape);

  // Every buffer is asked for before anything is recorded: growing one later would destroy it under a recorded dispatch.
  const headChunk = workspace.headChunk(plan);
  const words = workspace.uploadPlan(plan);
  const layers = workspace.layers(plan.maxTokens);
  const output = workspace.output(plan.maxTokens);
  const gradients = workspace.gradients(plan.maxTokens);
  const head = workspace.head(headChunk);
  const outputs = workspace.outputs(tokens);
  const buffers = workspace.loss(rows, tokens);
  const gradient = new FlatTensors(workspace.gradient(layout.total), layout);
  const pass: GradientContext = {
    shape,
    kernels,
    parameters: model.parameters,
    plan,
    words,
    gradient,
    partials: workspace.partials(plan.maxTokens, headChunk),
  };

  const { queue } = context.device;
  queue.writeBuffer(buffers.rows.buffer, 0, packLossRows(batch));
  queue.writeBuffer(buffers.planes.buffer, 0, packLossPlanes(batch, loss));
  const start = new Recorder(context, 'loss weights');
  start.clear(gradient.all);
  encodeLossWeights(start, kernels.lossWeights, buffers, { rows, tokens }, loss);
  start.submit();

  for (const micro of plan.microBatches) {
    if (micro.count === 0) continue;
    layers.forEach((_, l) => {
      const recorder = new Recorder(context, `forward block ${l}`);
      encodeBlock(recorder, pass, micro, layers, output, l);
      if (l === 0) recorder.clear({ ...gradients.dx, size: micro.tokens * shape.dModel * 4 });
      recorder.submit();
    });
    for (const range of headRanges(micro, headChunk)) {
      const recorder = new Recorder(context, 'head and loss');
      encodeHead(recorder, pass, range, { hidden: output, head, outputs }, wanted);
      encodePpoLoss(
        recorder,
        kernels.ppoLoss,
        { ...outputs, ...buffers },
        { tokens, first: range.first, count: range.count, modelOffset: range.first },
        loss,
      );
      encodeHeadGradient(recorder, pass, range, { head, outputs, loss: buffers, dx: gradients.dx }, wanted);
      recorder.submit();
    }
    for (let l = layers.length - 1; l >= 0; l--) {
      const recorder = new Recorder(context, `backward block ${l}`);
      encodeBlockGradient(recorder, pass, micro, layers, gradients, l);
      recorder.submit();
    }
  }
  const end = new Recorder(context, 'loss statistics');
  encodeReduceStats(end, kernels.reduceStats, buffers, tokens);
  end.submit();
  return { gradient, buffers };
}

function submitNorm({ context, kernels, workspace }: StepContext, gradient: FlatTensors) {
  const norm = workspace.norm();
  const recorder = new Recorder(context, 'gradient norm');
  encodeGradientNorm(recorder, kernels.gradientNorm, { gradient: gradient.all, ...norm }, gradient.layout.total);
  recorder.submit();
  return norm;
}

function decodeStats(record: ArrayBuffer, normRecord: ArrayBuffer): UpdateStats {
  const loss = decodeLossStats(record);
  const norm = decodeGradientNorm(normRecord);
  return { ...loss, gradNorm: norm.gradNorm, nonFinite: loss.nonFinite || norm.nonFinite };
}
