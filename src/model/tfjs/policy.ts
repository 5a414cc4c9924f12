/**
 * The policy network in tfjs operations: the model of parameters.ts, once more, in a form to read and to change. To try
 * another architecture, change `hiddenStates` (and the layout in parameters.ts); gradients follow by themselves.
 */
import * as tf from '@tensorflow/tfjs-core';
import { type BlockParameter, blockParameter, LAYER_NORM_EPSILON, type ModelShape } from '../parameters';
import { embed } from './operations';

/** Parameter tensors by name, shapes as in `parameterLayout`. */
export type Weights = ReadonlyMap<string, tf.Tensor>;

/** Tokens to run: B contexts of n tokens each, flattened [B × n], row-major. */
export interface TokenGrid {
  readonly rows: number;
  readonly length: number;
  readonly ids: tf.Tensor1D;
  /** Token before each token; only read when the shape has `previousToken`. */
  readonly previous: tf.Tensor1D;
  readonly positions: tf.Tensor1D;
}

/** Keys and values of one layer, each [B, heads, m, width]. */
export type KeyValue = { keys: tf.Tensor4D; values: tf.Tensor4D };

/** What a masked score gets added; exp of it is exactly 0 in float32. */
export const MASKED = -1e9;

/** [n, n], 0 where position i may read position j ≤ i, `MASKED` elsewhere. */
export function causalMask(length: number): tf.Tensor2D {
  const mask = new Float32Array(length * length);
  for (let i = 0; i < length; i++) mask.fill(MASKED, i * length + i + 1, (i + 1) * length);
  return tf.tensor2d(mask, [length, length]);
}

/** What the tokens of a layer attend to: given their own keys and values, these with what a cache holds. */
export type Attended = (layer: number, own: KeyValue) => KeyValue;

/**
 * Hidden states after the final layer norm.
 * @param mask added to the scores; broadcasts to [B, heads, n, m]
 * @param attended default: the tokens of the grid attend to each other
 * @returns [B × n, d]
 */
export function hiddenStates(
  weights: Weights,
  shape: ModelShape,
  grid: TokenGrid,
  mask: tf.Tensor,
  attended: Attended = (_, own) => own,
): tf.Tensor2D {
  const get = <T extends tf.Tensor>(name: string): T => tensor<T>(weights, name);
  let x = tf.add(embed(get('wte'), grid.ids), embed(get('wpe'), grid.positions)) as tf.Tensor2D;
  if (shape.previousToken) x = tf.add(x, embed(get('wte_prev'), grid.previous));
  for (let layer = 0; layer < shape.layers; layer++) {
    const block = (name: BlockParameter) => tensor(weights, blockParameter(layer, name));
    const normed = layerNorm(x, block('ln_1.weight'), block('ln_1.bias'));
    const qkv = linear(normed, block('attn.qkv.weight'), block('attn.qkv.bias')); // [B n, 3 d]
    const mixed = attention(qkv, shape, grid, mask, (own) => attended(layer, own));
    x = tf.add(x, linear(mixed, block('attn.proj.weight'), block('attn.proj.bias')));
    const again = layerNorm(x, block('ln_2.weight'), block('ln_2.bias'));
    const hidden = linear(again, block('mlp.fc.weight'), block('mlp.fc.bias'), 'relu');
    x = tf.add(x, linear(hidden, block('mlp.proj.weight'), block('mlp.proj.bias')));
  }
  return layerNorm(x, get('ln_f.weight'), get('ln_f.bias'));
}

/** log π of all tokens after each hidden state. @param hidden [p, d] @returns [p, vocabulary] */
export function logProbabilities(weights: Weights, hidden: tf.Tensor2D): tf.Tensor2D {
  return tf.logSoftmax(linear(hidden, tensor(weights, 'lm_head.weight'), tensor(weights, 'lm_head.bias')));
}

/** V of each hidden state. @param hidden [p, d] @returns [p] */
export function stateValues(weights: Weights, hidden: tf.Tensor2D): tf.Tensor1D {
  const values = linear(hidden, tensor(weights, 'value_head.weight'), tensor(weights, 'value_head.bias'));
  return tf.reshape(values, [-1]);
}

function tensor<T extends tf.Tensor>(weights: Weights, name: string): T {
  const found = weights.get(name);
  if (!found) throw new RangeError(`no parameter named ${name}`);
  return found as T;
}

/** x · W + b, then relu if asked, in one operation; weights [in, out]. */
function linear(
  x: tf.Tensor2D,
  weight: tf.Tensor,
  bias: tf.Tensor,
  activation: 'linear' | 'relu' = 'linear',
): tf.Tensor2D {
  return tf.fused.matMul({ a: x, b: weight as tf.Tensor2D, bias, activation }) as tf.Tensor2D;
}

function layerNorm(x: tf.Tensor2D, weight: tf.Tensor, bias: tf.Tensor): tf.Tensor2D {
  const centred = tf.sub(x, tf.mean(x, -1, true));
  const variance = tf.mean(tf.square(centred), -1, true);
  const normed = tf.mul(centred, tf.rsqrt(tf.add(variance, LAYER_NORM_EPSILON)));
  return tf.add(tf.mul(normed, weight), bias);
}

function attention(
  qkv: tf.Tensor2D,
  shape: ModelShape,
  grid: TokenGrid,
  mask: tf.Tensor,
  attended: (own: KeyValue) => KeyValue,
): tf.Tensor2D {
  const { heads, dModel } = shape;
  const width = dModel / heads;
  const [queries, ownKeys, ownValues] = tf
    .split(qkv, 3, 1)
    .map((part) => tf.transpose(tf.reshape(part, [grid.rows, grid.length, heads, width]), [0, 2, 1, 3])) as [
    tf.Tensor4D,
    tf.Tensor4D,
    tf.Tensor4D,
  ]; // [B, heads, n, width]
  const { keys, values } = attended({ keys: ownKeys, values: ownValues }); // [B, heads, m, width]
  const scores = tf.mul(tf.matMul(queries, keys, false, true), 1 / Math.sqrt(width)); // [B, heads, n, m]
  const mixed = tf.matMul(tf.softmax(tf.add(scores, mask)), values); // [B, heads, n, width]
  return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [grid.rows * grid.length, dModel]);
}
