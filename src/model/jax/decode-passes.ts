/**
 * Compiled functions of decoding. New keys and values go into a small block beside the cache and are merged into it
 * every `BLOCK` positions: jax-js cannot write into an array, so a step that wrote the cache would copy all of it.
 */
import { jit, numpy as np } from '@jax-js/jax';
import type { ModelShape } from '../parameters';
import {
  attentionScores,
  embed,
  hiddenStates,
  type KeyValue,
  logProbabilities,
  MASKED,
  mergeHeads,
  splitHeads,
  splitWeights,
  stateValues,
  type Weights,
} from './policy';

/** Positions of a block: tokens of one prefill pass, or decode steps between two merges. */
export const BLOCK = 16;

/** Keys and values of every layer. */
export type Cache = KeyValue[];

/** What a pass over `width` new positions of N rows reads besides the cache. */
export type NewTokens = {
  /** [N, width] int32 */
  ids: np.Array;
  /** [N, width] int32 token before each. */
  previous: np.Array;
  /** [N] int32 valid positions in the cache. */
  filled: np.Array;
};

export interface DecodePasses {
  /**
   * One new position per row.
   * @param place [1] int32 index in the block that the new position takes; earlier ones hold the positions before it
   * @returns the block with the new position; output [N, V + 1]: log-probs of the next token and the value
   */
  step(
    weights: Weights,
    past: Cache,
    block: Cache,
    place: np.Array,
    tokens: NewTokens,
  ): { block: Cache; output: np.Array };
  /**
   * `BLOCK` new positions per row, causal among themselves.
   * @param last [N] int32 index of the position whose output is wanted
   */
  prefill(weights: Weights, past: Cache, tokens: NewTokens, last: np.Array): { block: Cache; output: np.Array };
  /** Writes the first `count` positions of each row's block behind the `filled` ones of its cache; both [N] int32. */
  merge(past: Cache, block: Cache, filled: np.Array, count: np.Array): Cache;
  /** Rows of a cache. @param rows [N] int32 */
  take(cache: Cache, rows: np.Array): Cache;
  /** Replaces rows of a cache. @param from [slots] int32 row of `part` that replaces each slot; −1 keeps it */
  put(cache: Cache, part: Cache, from: np.Array): Cache;
}

export function decodePasses(shape: ModelShape): DecodePasses {
  return {
    step: jit((weights: Weights, past: Cache, block: Cache, place: np.Array, tokens: NewTokens) => {
      const [rows] = tokens.ids.shape as [number, number];
      const inBlock = np.arange(BLOCK);
      const isNew = np.equal(inBlock.ref, place.ref).reshape([1, BLOCK, 1]);
      const visible = np.lessEqual(inBlock, place.ref).reshape([1, 1, 1, BLOCK]);
      const write = (old: np.Array, fresh: np.Array) =>
        np.where(isNew.ref, fresh.reshape([rows, 1, shape.dModel]), old);
      const result = pass(shape, weights, past, tokens, place, visible, (layer, fresh) => ({
        keys: write(block[layer]!.keys, fresh.keys),
        values: write(block[layer]!.values, fresh.values),
      }));
      isNew.dispose();
      return { block: result.block, output: heads(result.heads, result.hidden) };
    }),
    prefill: jit((weights: Weights, past: Cache, tokens: NewTokens, last: np.Array) => {
      const [rows] = tokens.ids.shape as [number, number];
      const causal = np.tri(BLOCK, BLOCK, 0, { dtype: np.bool }).reshape([1, 1, BLOCK, BLOCK]);
      const asBlock = (fresh: np.Array) => fresh.reshape([rows, BLOCK, shape.dModel]);
      const place = np.arange(BLOCK);
      const result = pass(shape, weights, past, tokens, place, causal, (_, fresh) => ({
        keys: asBlock(fresh.keys),
        values: asBlock(fresh.values),
      }));
      const chosen = result.hidden.slice(np.arange(rows).mul(BLOCK).add(last)); // [rows, d]
      return { block: result.block, output: heads(result.heads, chosen) };
    }),
    merge: jit((past: Cache, block: Cache, filled: np.Array, count: np.Array) => {
      const [rows, capacity, d] = past[0]!.keys.shape as [number, number, number];
      const place = np
        .arange(capacity)
        .reshape([1, capacity])
        .sub(filled.reshape([rows, 1])); // [rows, capacity]
      const fits = np.greaterEqual(place.ref, 0).mul(np.less(place.ref, count.reshape([rows, 1])));
      const mask = fits.reshape([rows, capacity, 1]);
      const row = np.arange(rows).mul(BLOCK).reshape([rows, 1]);
      const index = row.add(np.clip(place, 0, BLOCK - 1)).reshape([-1]); // [rows × capacity]
      const write = (old: np.Array, fresh: np.Array) =>
        np.where(
          mask.ref,
          fresh
            .reshape([rows * BLOCK, d])
            .slice(index.ref)
            .reshape([rows, capacity, d]),
          old,
        );
      const merged = past.map(({ keys, values }, layer) => ({
        keys: write(keys, block[layer]!.keys),
        values: write(values, block[layer]!.values),
      }));
      mask.dispose();
      index.dispose();
      return merged;
    }),
    take: jit((cache: Cache, rows: np.Array) => {
      const taken = cache.map(({ keys, values }) => ({ keys: keys.slice(rows.ref), values: values.slice(rows.ref) }));
      rows.dispose();
      return taken;
    }),
    put: jit((cache: Cache, part: Cache, from: np.Array) => {
      const mask = np.greaterEqual(from.ref, 0).reshape([-1, 1, 1]);
      const index = np.maximum(from, 0);
      const write = (old: np.Array, fresh: np.Array) => np.where(mask.ref, fresh.slice(index.ref), old);
      const written = cache.map(({ keys, values }, layer) => ({
        keys: write(keys, part[layer]!.keys),
        values: write(values, part[layer]!.values),
      }));
      mask.dispose();
      index.dispose();
      return written;
    }),
  };
}

/**
 * New positions through the blocks, reading the cache and the block.
 * @param place [width] int32 index of each new position in the block
 * @param visible broadcasts to [N, heads, width, BLOCK]: which positions of the block a new one reads
 * @param extend the block of a layer with its new keys and values, given as [N × width, d]
 */
function pass(
  shape: ModelShape,
  weights: Weights,
  past: Cache,
  { ids, previous, filled }: NewTokens,
  place: np.Array,
  visible: np.Array,
  extend: (layer: number, fresh: KeyValue) => KeyValue,
): { block: Cache; hidden: np.Array; heads: Weights } {
  const [rows, width] = ids.shape as [number, number];
  const parts = splitWeights(weights);
  const capacity = past[0]!.keys.shape[1]!;
  // Padding may lie beyond the learned positions; nothing reads it.
  const positions = np.minimum(filled.ref.reshape([rows, 1]).add(place.reshape([1, width])), shape.positions - 1);
  const x = embed(parts.tables, { ids, previous, positions }, shape.previousToken).reshape([-1, shape.dModel]);
  const inCache = np.less(np.arange(capacity).reshape([1, 1, 1, capacity]), filled.reshape([rows, 1, 1, 1]));
  const block: Cache = [];
  const hidden = hiddenStates(parts.blocks, shape, x, (layer, q, fresh) => {
    const own = extend(layer, fresh);
    block.push({ keys: own.keys.ref, values: own.values.ref });
    const queries = splitHeads(q, shape.heads, rows); // [rows, heads, width, d / heads]
    const cached = past[layer]!;
    const heads = (array: np.Array) => splitHeads(array.reshape([-1, shape.dModel]), shape.heads, rows);
    const old = np.where(inCache.ref, attentionScores(queries.ref, heads(cached.keys)), MASKED);
    const recent = np.where(visible.ref, attentionScores(queries, heads(own.keys)), MASKED);
    // Softmax over both parts without joining them.
    const maxima = np.maximum(rowMax(old.ref), rowMax(recent.ref)); // [rows, heads, width, 1]
    const onOld = np.exp(old.sub(maxima.ref));
    const onRecent = np.exp(recent.sub(maxima));
    const total = rowSum(onOld.ref).add(rowSum(onRecent.ref));
    const mixed = np.matmul(onOld, heads(cached.values)).add(np.matmul(onRecent, heads(own.values)));
    return mergeHeads(mixed.div(total));
  });
  inCache.dispose();
  visible.dispose();
  return { block, hidden, heads: parts.heads };
}

const rowMax = (x: np.Array) => np.max(x, -1, { keepdims: true });
const rowSum = (x: np.Array) => np.sum(x, -1, { keepdims: true });

/** [N, V + 1] log-probs and the value. @param hidden [N, d] */
function heads(weights: Weights, hidden: np.Array): np.Array {
  const logp = logProbabilities(hidden.ref, weights['lm_head.weight']!, weights['lm_head.bias']!);
  const values = stateValues(hidden, weights['value_head.weight']!, weights['value_head.bias']!);
  return np.concatenate([logp, values.reshape([-1, 1])], 1);
}
