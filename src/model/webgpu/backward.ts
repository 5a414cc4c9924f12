/** Records the backward pass of one micro-batch. Gradients of parameters are added to what the gradient buffer holds. */
import type { GpuSlice, Recorder } from '../../gpu/kernel';
import { encodeAttentionKeyValueGradient } from '../../gpu/kernels/attention-key-value-gradient';
import { encodeAttentionQueryGradient } from '../../gpu/kernels/attention-query-gradient';
import { encodeEmbeddingGradient } from '../../gpu/kernels/embedding-gradient';
import { encodeLayerNormInputGradient } from '../../gpu/kernels/layernorm-input-gradient';
import { encodeLayerNormWeightGradient } from '../../gpu/kernels/layernorm-weight-gradient';
import { encodeLogitsGradient } from '../../gpu/kernels/logits-gradient';
import { encodeMoveRows, type TokenRange } from '../../gpu/kernels/move-rows';
import { encodeProductInputGradient, encodeProductWeightGradient } from '../../gpu/kernels/products';
import { encodeValueHeadInputGradient } from '../../gpu/kernels/value-head-input-gradient';
import { encodeValueHeadWeightGradient } from '../../gpu/kernels/value-head-weight-gradient';
import type { PassContext, WantedHeads } from './forward';
import type { FlatTensors } from './model-buffers';
import type { MicroBatch, SortedTokens } from './step-plan';
import type { ActivationGradients, HeadBuffers, LayerActivations, LossBuffers, TokenOutputs } from './workspace';
import { planSlice } from './workspace';

/** Where parameter gradients go, and the scratch of their sums. */
export interface GradientContext extends PassContext {
  readonly gradient: FlatTensors;
  readonly partials: GpuSlice;
}

interface Rows {
  readonly rows: number;
  readonly inputs: number;
  readonly outputs: number;
}

/** Gradient of a weight and bias: name without `.weight`. */
function encodeWeightGradient(
  recorder: Recorder,
  pass: GradientContext,
  name: string,
  x: GpuSlice,
  dy: GpuSlice,
  sizes: Rows,
): void {
  const { kernels, partials, gradient } = pass;
  encodeProductWeightGradient(
    recorder,
    { partial: kernels.matmulWeightGradient, reduce: kernels.reducePartials },
    { x, dy, partials, gradient: gradient.pair(name) },
    sizes,
  );
}

/** Gradient of a layer norm: of weight and bias, and of its input into `dx`. */
function encodeLayerNormGradient(
  recorder: Recorder,
  pass: GradientContext,
  name: string,
  slices: { readonly x: GpuSlice; readonly stats: GpuSlice; readonly dy: GpuSlice; readonly dx: GpuSlice },
  options: { readonly rows: number; readonly accumulate: boolean },
): void {
  const { kernels, partials, gradient, parameters, shape } = pass;
  const sizes = { rows: options.rows, dModel: shape.dModel };
  encodeLayerNormWeightGradient(
    recorder,
    { partial: kernels.layernormWeightGradient, reduce: kernels.reducePartials },
    { ...slices, partials, gradient: gradient.pair(name) },
    sizes,
  );
  encodeLayerNormInputGradient(
    recorder,
    kernels.layernormInputGradient,
    { ...slices, weight: parameters.tensor(`${name}.weight`) },
    { ...sizes, accumulate: options.accumulate },
  );
}

/**
 * From dL/dlogp, dL/dH and dL/dV of a chunk to the residual stream: scatters into `dx`, whose other rows are zero.
 * Comes after `encodeHead` and the loss of the same chunk; overwrites the logits.
 */
export function encodeHeadGradient(
  recorder: Recorder,
  pass: GradientContext,
  range: TokenRange,
  buffers: {
    readonly head: HeadBuffers;
    readonly outputs: TokenOutputs;
    readonly loss: LossBuffers;
    readonly dx: GpuSlice;
  },
  wanted: WantedHeads,
): void {
  const { shape, kernels, parameters, plan, words, partials, gradient } = pass;
  const { dModel, vocabulary } = shape;
  const { head, outputs, loss } = buffers;
  const rows = range.count;
  if (wanted.policy) {
    encodeLogitsGradient(
      recorder,
      kernels.logitsGradient,
      {
        logits: head.logits,
        targets: planSlice(words, plan.targets),
        lse: head.lse,
        entropy: outputs.entropy,
        gradLogp: loss.gradLogp,
        gradEntropy: loss.gradEntropy,
      },
      range,
      vocabulary,
    );
    const sizes = { rows, inputs: dModel, outputs: vocabulary };
    encodeWeightGradient(recorder, pass, 'lm_head', head.h, head.logits, sizes);
    encodeProductInputGradient(
      recorder,
      kernels.matmulInputGradient,
      { dy: head.logits, weight: parameters.tensor('lm_head.weight'), dx: head.dh },
      sizes,
    );
  }
  if (wanted.value) {
    encodeValueHeadWeightGradient(
      recorder,
      { partial: kernels.valueHeadWeightGradient, reduce: kernels.reducePartials },
      { h: head.h, gradValues: loss.gradValues, partials, gradient: gradient.pair('value_head') },
      range,
      dModel,
    );
    encodeValueHeadInputGradient(
      recorder,
      kernels.valueHeadInputGradient,
      { gradValues: loss.gradValues, weight: parameters.tensor('value_head.weight'), dh: head.dh },
      range,
      { dModel, accumulate: wanted.policy },
    );
  }
  encodeLayerNormGradient(
    recorder,
    pass,
    'ln_f',
    { x: head.x, stats: head.stats, dy: head.dh, dx: head.dx },
    { rows, accumulate: false },
  );
  encodeMoveRows(
    recorder,
    kernels.moveRows,
    { index: planSlice(words, plan.index), hidden: buffers.dx, packed: head.dx },
    range,
    { dModel, direction: 'scatter' },
  );
}

/**
 * From the gradient `dx` of the residual stream after block `l` to that before it, and for block 0 on to the embeddings.
 * A block is a unit of submitted work, as in the forward pass.
 */
export function encodeBlockGradient(
  recorder: Recorder,
  pass: GradientContext,
  batch: MicroBatch,
  layers: readonly LayerActivations[],
  gradients: ActivationGradients,
  l: number,
): void {
  encodeMlpGradient(recorder, pass, `h.${l}`, batch.tokens, layers[l]!, gradients);
  encodeAttentionGradient(recorder, pass, `h.${l}`, batch, layers[l]!, gradients);
  if (l === 0) encodeEmbeddingGradients(recorder, pass, batch, gradients.dx);
}

/** Gradients of the embedding tables from the gradient of the first block's input. */
function encodeEmbeddingGradients(recorder: Recorder, pass: GradientContext, batch: MicroBatch, dx: GpuSlice): void {
  const { shape, words, gradient, kernels } = pass;
  const embedding = (name: string, sorted: SortedTokens | undefined, entries: number) => {
    if (!sorted) return;
    encodeEmbeddingGradient(
      recorder,
      kernels.embeddingGradient,
      {
        start: planSlice(words, sorted.start),
        order: planSlice(words, sorted.order),
        dx,
        gradient: gradient.tensor(name),
      },
      { entries, dModel: shape.dModel },
    );
  };
  embedding('wte', batch.sorted?.token, shape.vocabulary);
  embedding('wte_prev', batch.sorted?.previous, shape.vocabulary);
  embedding('wpe', batch.sorted?.position, shape.positions);
}

/** x_out = middle + mlp_proj(relu(mlp_fc(ln_2(middle)))): dx of x_out becomes dx of middle. */
function encodeMlpGradient(
  recorder: Recorder,
  pass: GradientContext,
  block: string,
  rows: number,
  layer: LayerActivations,
  { dx, dz, dhidden }: ActivationGradients,
): void {
  const { kernels, parameters } = pass;
  const { dModel, mlp } = pass.shape;
  const down = { rows, inputs: mlp, outputs: dModel };
  const up = { rows, inputs: dModel, outputs: mlp };
  encodeWeightGradient(recorder, pass, `${block}.mlp.proj`, layer.hidden, dx, down);
  encodeProductInputGradient(
    recorder,
    kernels.matmulInputGradient,
    { dy: dx, weight: parameters.tensor(`${block}.mlp.proj.weight`), mask: layer.hidden, dx: dhidden },
    down,
  );
  encodeWeightGradient(recorder, pass, `${block}.mlp.fc`, layer.h2, dhidden, up);
  encodeProductInputGradient(
    recorder,
    kernels.matmulInputGradient,
    { dy: dhidden, weight: parameters.tensor(`${block}.mlp.fc.weight`), dx: dz },
    up,
  );
  encodeLayerNormGradient(
    recorder,
    pass,
    `${block}.ln_2`,
    { x: layer.middle, stats: layer.stats2, dy: dz, dx },
    { rows, accumulate: true },
  );
}

/** middle = x + attn_proj(attention(ln_1(x))): dx of middle becomes dx of x. */
function encodeAttentionGradient(
  recorder: Recorder,
  pass: GradientContext,
  block: string,
  batch: MicroBatch,
  layer: LayerActivations,
  { dx, dz, dqkv, delta }: ActivationGradients,
): void {
  const { kernels, parameters, words } = pass;
  const { dModel, heads } = pass.shape;
  const rows = batch.tokens;
  const project = { rows, inputs: dModel, outputs: dModel };
  const expand = { rows, inputs: dModel, outputs: 3 * dModel };
  encodeWeightGradient(recorder, pass, `${block}.attn.proj`, layer.attention, dx, project);
  encodeProductInputGradient(
    recorder,
    kernels.matmulInputGradient,
    { dy: dx, weight: parameters.tensor(`${block}.attn.proj.weight`), dx: dz },
    project,
  );
  const slices = {
    records: planSlice(words, batch.records),
    qkv: layer.qkv,
    out: layer.attention,
    lse: layer.lse,
    dout: dz,
    dqkv,
    delta,
  };
  const sizes = { tokens: rows, heads, dModel };
  encodeAttentionQueryGradient(recorder, kernels.attentionQueryGradient, slices, sizes);
  encodeAttentionKeyValueGradient(recorder, kernels.attentionKeyValueGradient, slices, sizes);
  encodeWeightGradient(recorder, pass, `${block}.attn.qkv`, layer.h1, dqkv, expand);
  encodeProductInputGradient(
    recorder,
    kernels.matmulInputGradient,
    { dy: dqkv, weight: parameters.tensor(`${block}.attn.qkv.weight`), dx: dz },
    expand,
  );
  encodeLayerNormGradient(
    recorder,
    pass,
    `${block}.ln_1`,
    { x: layer.x, stats: layer.stats1, dy: dz, dx },
    { rows, accumulate: true },
  );
}
