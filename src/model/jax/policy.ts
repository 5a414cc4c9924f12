/**
 * The policy network in jax-js: the model of parameters.ts in the terms of `jax.numpy`, one function from a dictionary of
 * parameters to outputs. jax-js counts references: a function consumes its arguments, `.ref` keeps one for another use.
 */
import { nn, numpy as np } from '@jax-js/jax';
import { type BlockParameter, blockParameter, LAYER_NORM_EPSILON, type ModelShape } from '../parameters';

/** Arrays by parameter name, shapes as in `parameterLayout`. */
export type Weights = { [name: string]: np.Array };

/** Keys and values of one layer, each [rows, positions, d], head-major along d. */
export type KeyValue = { keys: np.Array; values: np.Array };

/** What a masked score becomes; exp of it is exactly 0 in float32. */
export const MASKED = -1e9;

type Three = [np.Array, np.Array, np.Array];

const headNames = ['lm_head.weight', 'lm_head.bias', 'value_head.weight', 'value_head.bias'] as const;
export type HeadName = (typeof headNames)[number];

/** Parameters by use: tables of embeddings, blocks with the final layer norm, and the heads that read the result. */
export function splitWeights(weights: Weights): { tables: Weights; blocks: Weights; heads: Weights } {
  const parts: ReturnType<typeof splitWeights> = { tables: {}, blocks: {}, heads: {} };
  for (const [name, array] of Object.entries(weights)) {
    const isHead = (headNames as readonly string[]).includes(name);
    parts[/^w[tp]e/.test(name) ? 'tables' : isHead ? 'heads' : 'blocks'][name] = array;
  }
  return parts;
}

/**
 * Sum of the embeddings of each token.
 * @param tables wte [V, d], wpe [positions, d] and, when the shape has it, wte_prev [V, d]; consumed
 * @param ids int32 of any shape [...]; `previous` and `positions` broadcast to it
 * @returns [..., d]
 */
export function embed(
  tables: Weights,
  tokens: { ids: np.Array; previous: np.Array; positions: np.Array },
  previousToken: boolean,
): np.Array {
  const x = parameter(tables, 'wte').slice(tokens.ids).add(parameter(tables, 'wpe').slice(tokens.positions));
  if (previousToken) return x.add(parameter(tables, 'wte_prev').slice(tokens.previous));
  tokens.previous.dispose();
  return x;
}

/**
 * Hidden states after the final layer norm.
 * @param weights the blocks and the final layer norm; consumed
 * @param x [T, d] embeddings of T = rows × n tokens, flat: jax-js tiles products of two matrices best; consumed
 * @param attend attention of one layer: queries, keys and values [T, d] of the new positions → [T, d]
 * @returns [T, d]
 */
export function hiddenStates(
  weights: Weights,
  shape: ModelShape,
  x: np.Array,
  attend: (layer: number, queries: np.Array, fresh: KeyValue) => np.Array,
): np.Array {
  let state = x;
  for (let layer = 0; layer < shape.layers; layer++) {
    const block = (name: BlockParameter) => parameter(weights, blockParameter(layer, name));
    const normed = layerNorm(state.ref, block('ln_1.weight'), block('ln_1.bias'));
    // Three products, not one that is split: backwards the parts are joined, and parts of weights are small.
    const biases = np.split(block('attn.qkv.bias'), 3);
    const parts = np.split(block('attn.qkv.weight'), 3, 1);
    const [queries, keys, values] = parts.map((weight, i) => linear(normed.ref, weight, biases[i]!)) as Three;
    normed.dispose();
    const mixed = attend(layer, queries, { keys, values });
    state = state.add(linear(mixed, block('attn.proj.weight'), block('attn.proj.bias')));
    const normedAgain = layerNorm(state.ref, block('ln_2.weight'), block('ln_2.bias'));
    const hidden = nn.relu(linear(normedAgain, block('mlp.fc.weight'), block('mlp.fc.bias')));
    state = state.add(linear(hidden, block('mlp.proj.weight'), block('mlp.proj.bias')));
  }
  return layerNorm(state, parameter(weights, 'ln_f.weight'), parameter(weights, 'ln_f.bias'));
}

/**
 * Causal attention of whole rows.
 * @param queries [rows × length, d], like keys and values; all consumed
 */
export function causalAttention(queries: np.Array, { keys, values }: KeyValue, heads: number, rows: number): np.Array {
  const scores = attentionScores(splitHeads(queries, heads, rows), splitHeads(keys, heads, rows)); // [rows, heads, n, n]
  const mask = np.tri(scores.shape[2]!, scores.shape[3]!, 0, { dtype: np.bool });
  const weights = nn.softmax(np.where(mask, scores, MASKED));
  return mergeHeads(np.matmul(weights, splitHeads(values, heads, rows)));
}

/** q · k / √width. @param queries [rows, heads, n, width] @param keys [rows, heads, m, width] @returns [rows, heads, n, m] */
export function attentionScores(queries: np.Array, keys: np.Array): np.Array {
  return np.matmul(queries, np.transpose(keys, [0, 1, 3, 2])).mul(1 / Math.sqrt(queries.shape[3]!));
}

/** [rows × n, d] → [rows, heads, n, width] */
export function splitHeads(x: np.Array, heads: number, rows: number): np.Array {
  const [tokens, d] = x.shape as [number, number];
  return np.transpose(x.reshape([rows, tokens / rows, heads, d / heads]), [0, 2, 1, 3]);
}

/** [rows, heads, n, width] → [rows × n, d] */
export function mergeHeads(x: np.Array): np.Array {
  const [rows, heads, n, width] = x.shape as [number, number, number, number];
  return np.transpose(x, [0, 2, 1, 3]).reshape([rows * n, heads * width]);
}

/** log π of all tokens after each hidden state. @param hidden [p, d] @returns [p, V] */
export function logProbabilities(hidden: np.Array, weight: np.Array, bias: np.Array): np.Array {
  return nn.logSoftmax(linear(hidden, weight, bias));
}

/** V of each hidden state. @param hidden [p, d] @returns [p] */
export function stateValues(hidden: np.Array, weight: np.Array, bias: np.Array): np.Array {
  return linear(hidden, weight, bias).reshape([-1]);
}

function parameter(weights: Weights, name: string): np.Array {
  const found = weights[name];
  if (!found) throw new RangeError(`no parameter named ${name}`);
  return found;
}

/** x · W + b, weights [in, out]. */
function linear(x: np.Array, weight: np.Array, bias: np.Array): np.Array {
  return np.matmul(x, weight).add(bias);
}

function layerNorm(x: np.Array, weight: np.Array, bias: np.Array): np.Array {
  const centred = x.ref.sub(np.mean(x, -1, { keepdims: true }));
  const variance = np.mean(np.square(centred.ref), -1, { keepdims: true });
  return centred
    .div(np.sqrt(variance.add(LAYER_NORM_EPSILON)))
    .mul(weight)
    .add(bias);
}
