/** Records the forward pass of one micro-batch. */
import type { GpuSlice, Recorder } from '../../gpu/kernel';
import { encodeAttention } from '../../gpu/kernels/attention';
import { encodeEmbedding } from '../../gpu/kernels/embedding';
import { encodeLayerNorm } from '../../gpu/kernels/layernorm';
import { encodeMoveRows, type TokenRange } from '../../gpu/kernels/move-rows';
import { encodeProduct } from '../../gpu/kernels/products';
import { encodeSoftmaxStatistics } from '../../gpu/kernels/softmax-statistics';
import { encodeValueHead } from '../../gpu/kernels/value-head';
import { blockParameter, LAYER_NORM_EPSILON, type ModelShape } from '../parameters';
import type { FlatTensors } from './model-buffers';
import type { MicroBatch, StepPlan } from './step-plan';
import type { TransformerKernels } from './transformer-kernels';
import { type HeadBuffers, type LayerActivations, planSlice, type TokenOutputs } from './workspace';

/** What every pass over one call's rows needs. */
export interface PassContext {
  readonly shape: ModelShape;
  readonly kernels: TransformerKernels;
  readonly parameters: FlatTensors;
  readonly plan: StepPlan;
  /** The plan's words on the device. */
  readonly words: GPUBuffer;
}

/** Which heads a pass computes. */
export interface WantedHeads {
  /** lm_head: log-probs and entropies. */
  readonly policy: boolean;
  /** Value head. */
  readonly value: boolean;
}

/**
 * Embedding (before block 0) and block `l`. A block is a unit of submitted work: bounded, whatever the depth.
 * `output` receives the residual stream after the last block.
 */
export function encodeBlock(
  recorder: Recorder,
  pass: PassContext,
  batch: MicroBatch,
  layers: readonly LayerActivations[],
  output: GpuSlice,
  l: number,
): void {
  const { shape, kernels, parameters } = pass;
  const { dModel, mlp, heads } = shape;
  const rows = batch.tokens;
  const records = planSlice(pass.words, batch.records);
  const norm = { rows, dModel, epsilon: LAYER_NORM_EPSILON };
  const layer = layers[l]!;
  const weight = (name: 'ln_1' | 'ln_2' | 'attn.qkv' | 'attn.proj' | 'mlp.fc' | 'mlp.proj') => ({
    weight: parameters.tensor(blockParameter(l, `${name}.weight`)),
    bias: parameters.tensor(blockParameter(l, `${name}.bias`)),
  });
  if (l === 0)
    encodeEmbedding(
      recorder,
      kernels.embedding,
      {
        records,
        wte: parameters.tensor('wte'),
        wtePrevious: shape.previousToken ? parameters.tensor('wte_prev') : undefined,
        wpe: parameters.tensor('wpe'),
        x: layer.x,
      },
      { rows, dModel },
    );
  encodeLayerNorm(
    recorder,
    kernels.layernorm,
    { x: layer.x, ...weight('ln_1'), y: layer.h1, stats: layer.stats1 },
    norm,
  );
  encodeProduct(
    recorder,
    kernels.matmul,
    { x: layer.h1, ...weight('attn.qkv'), y: layer.qkv },
    { rows, inputs: dModel, outputs: 3 * dModel },
  );
  encodeAttention(
    recorder,
    kernels.attention,
    { records, qkv: layer.qkv, out: layer.attention, lse: layer.lse },
    { tokens: rows, heads, dModel },
  );
  encodeProduct(
    recorder,
    kernels.matmul,
    { x: layer.attention, ...weight('attn.proj'), residual: layer.x, y: layer.middle },
    { rows, inputs: dModel, outputs: dModel },
  );
  encodeLayerNorm(
    recorder,
    kernels.layernorm,
    { x: layer.middle, ...weight('ln_2'), y: layer.h2, stats: layer.stats2 },
    norm,
  );
  encodeProduct(
    recorder,
    kernels.matmul,
    { x: layer.h2, ...weight('mlp.fc'), y: layer.hidden },
    { rows, inputs: dModel, outputs: mlp, relu: true },
  );
  encodeProduct(
    recorder,
    kernels.matmul,
    { x: layer.hidden, ...weight('mlp.proj'), residual: layer.middle, y: layers[l + 1]?.x ?? output },
    { rows, inputs: mlp, outputs: dModel },
  );
}

/** Final layer norm and heads for a chunk of trainable tokens; leaves logits and log-sum-exps in `head`. */
export function encodeHead(
  recorder: Recorder,
  pass: PassContext,
  range: TokenRange,
  buffers: { readonly hidden: GpuSlice; readonly head: HeadBuffers; readonly outputs: TokenOutputs },
  wanted: WantedHeads,
): void {
  const { shape, kernels, parameters, plan, words } = pass;
  const { dModel, vocabulary } = shape;
  const { hidden, head, outputs } = buffers;
  const index = planSlice(words, plan.index);
  const targets = planSlice(words, plan.targets);
  encodeMoveRows(recorder, kernels.moveRows, { index, hidden, packed: head.x }, range, {
    dModel,
    direction: 'gather',
  });
  encodeLayerNorm(
    recorder,
    kernels.layernorm,
    {
      x: head.x,
      weight: parameters.tensor('ln_f.weight'),
      bias: parameters.tensor('ln_f.bias'),
      y: head.h,
      stats: head.stats,
    },
    { rows: range.count, dModel, epsilon: LAYER_NORM_EPSILON },
  );
  if (wanted.policy) {
    encodeProduct(
      recorder,
      kernels.matmul,
      {
        x: head.h,
        weight: parameters.tensor('lm_head.weight'),
        bias: parameters.tensor('lm_head.bias'),
        y: head.logits,
      },
      { rows: range.count, inputs: dModel, outputs: vocabulary },
    );
    encodeSoftmaxStatistics(
      recorder,
      kernels.softmaxStatistics,
      { logits: head.logits, targets, logp: outputs.logp, entropy: outputs.entropy, lse: head.lse },
      range,
      vocabulary,
    );
  }
  if (wanted.value)
    encodeValueHead(
      recorder,
      kernels.valueHead,
      {
        h: head.h,
        weight: parameters.tensor('value_head.weight'),
        bias: parameters.tensor('value_head.bias'),
        values: outputs.values,
      },
      range,
      dModel,
    );
}

/** Cuts a micro-batch's trainable tokens into chunks of at most `size`. */
export function headRanges(batch: MicroBatch, size: number): TokenRange[] {
  const ranges: TokenRange[] = [];
  for (let at = 0; at < batch.count; at += size)
    ranges.push({ first: batch.first + at, count: Math.min(size, batch.count - at) });
  return ranges;
}
