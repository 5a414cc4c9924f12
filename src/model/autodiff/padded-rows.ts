/**
 * Packed rows → padded rectangles, the shape that array libraries want. Padding sits after a row's end, where causal
 * attention cannot see it, and its outputs are never read: it costs time, not correctness.
 */
import type { PackedRows } from '../engine';
import { trainableOfRows } from '../packed-rows';

/** Some rows of a batch as a rectangle of `rows` × `length` tokens, row-major. */
export interface PaddedRows {
  readonly rows: number;
  readonly length: number;
  /** [rows × length] token ids; 0 in padding. */
  readonly ids: Int32Array;
  /** [rows × length] id of the token before, 0 at position 0. */
  readonly previous: Int32Array;
  /** [rows × length] 0 … length − 1, once per row. */
  readonly positions: Int32Array;
  /** [p] where the hidden state that predicts each trainable token lies: its own place − 1. Strictly ascending. */
  readonly source: Int32Array;
  /** [p] ids of the trainable tokens. */
  readonly targets: Int32Array;
  /** [p] number of each trainable token in the batch's `trainable`. */
  readonly trainable: Int32Array;
}

/** Lengths and row counts are rounded up to these, so that few different shapes occur: tfjs keeps freed buffers by size
 *  and would otherwise collect one pool per shape that ever occurred. */
export const LENGTH_STEP = 16;
export const ROWS_STEP = 4;

export function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

/** Groups items by their length rounded up to `LENGTH_STEP` (at most `positions`): what an item is padded to depends on
 *  itself alone, so its result does not depend on its neighbours. Ascending lengths; order kept within a group. */
export function byPaddedLength<T>(
  items: readonly T[],
  lengthOf: (item: T) => number,
  positions: number,
): { length: number; items: T[] }[] {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const length = Math.min(positions, roundUp(lengthOf(item), LENGTH_STEP));
    const group = groups.get(length);
    if (group) group.push(item);
    else groups.set(length, [item]);
  }
  return [...groups].map(([length, group]) => ({ length, items: group })).sort((a, b) => a.length - b.length);
}

/** Pieces of at most `size` (≥ 1) items, in order. */
export function pieces<T>(items: readonly T[], size: number): T[][] {
  const step = Math.max(1, size);
  return Array.from({ length: Math.ceil(items.length / step) }, (_, i) => items.slice(i * step, (i + 1) * step));
}

/**
 * Splits a batch into rectangles of at most `limit` tokens (or `ROWS_STEP` rows). Rows without a trainable token are left
 * out: they change neither scores nor gradient.
 * @param limit tokens, padding included, per rectangle
 * @param positions longest row the model can take
 */
export function padRows(rows: PackedRows, limit: number, positions: number): PaddedRows[] {
  const { rowStart } = rows;
  const trainableStart = trainableOfRows(rows);
  const used = Array.from({ length: rowStart.length - 1 }, (_, r) => r).filter(
    (r) => trainableStart[r + 1]! > trainableStart[r]!,
  );
  return byPaddedLength(used, (r) => rowStart[r + 1]! - rowStart[r]!, positions).flatMap(({ length, items }) => {
    const most = Math.max(1, Math.floor(limit / length / ROWS_STEP)) * ROWS_STEP;
    return pieces(items, most).map((chosen) => {
      return padChosenRows(rows, trainableStart, chosen, length, roundUp(chosen.length, ROWS_STEP));
    });
  });
}

/**
 * Some rows as a rectangle.
 * @param trainableStart see `trainableOfRows`
 * @param chosen numbers of rows of at most `length` tokens
 * @param rows of the rectangle, at least `chosen.length`
 */
export function padChosenRows(
  packed: PackedRows,
  trainableStart: Uint32Array,
  chosen: readonly number[],
  length: number,
  rows: number,
): PaddedRows {
  const ids = new Int32Array(rows * length);
  const previous = new Int32Array(rows * length);
  const source: number[] = [];
  const targets: number[] = [];
  const trainable: number[] = [];
  chosen.forEach((r, row) => {
    const from = packed.rowStart[r]!;
    const slice = packed.ids.subarray(from, packed.rowStart[r + 1]!);
    ids.set(slice, row * length);
    previous.set(slice.subarray(0, slice.length - 1), row * length + 1);
    for (let p = trainableStart[r]!; p < trainableStart[r + 1]!; p++) {
      const token = packed.trainable[p]!;
      source.push(row * length + token - from - 1);
      targets.push(packed.ids[token]!);
      trainable.push(p);
    }
  });
  return {
    rows,
    length,
    ids,
    previous,
    positions: Int32Array.from(ids, (_, i) => i % length),
    source: Int32Array.from(source),
    targets: Int32Array.from(targets),
    trainable: Int32Array.from(trainable),
  };
}
