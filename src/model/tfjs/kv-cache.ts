/**
 * Keys and values of slots, kept on the device between decode calls: per layer two tensors [slots + spare, heads,
 * positions, width]. A call works on the rows of its jobs; what it feeds is scattered into them, what it samples is
 * appended behind them and moved to its place when the call ends: tfjs tensors are immutable, so either copies the whole
 * cache, and appending is the cheaper copy.
 */
import * as tf from '@tensorflow/tfjs-core';
import { ROWS_STEP, roundUp } from '../autodiff/padded-rows';
import type { ModelShape } from '../parameters';
import type { Attended, KeyValue } from './policy';

/** A token and where it goes in its row's cache. */
export interface TokenPlace {
  readonly id: number;
  readonly previous: number;
  readonly position: number;
}

/** Rows for n slots or jobs: at least one spare row behind them, where everything without a place is written. */
function rowsFor(n: number): number {
  return roundUp(n + 1, ROWS_STEP);
}

/** Caches of all slots. `dispose` frees them. */
export class KvCache {
  private layers: KeyValue[];

  constructor(
    private readonly shape: ModelShape,
    readonly slots: number,
    readonly positions: number,
  ) {
    const { heads, dModel, layers } = shape;
    const zeros = () => tf.zeros<tf.Rank.R4>([rowsFor(slots), heads, positions, dModel / heads]);
    this.layers = Array.from({ length: layers }, () => ({ keys: zeros(), values: zeros() }));
  }

  /** Copies the caches of some slots, in that order. The caller disposes the copy. */
  take(slots: readonly number[]): WorkingCache {
    const rows = this.rowsOf(slots);
    const layers = tf.tidy(() => {
      const index = tf.tensor1d(rows, 'int32');
      const pick = (x: tf.Tensor4D): tf.Tensor4D => (this.isAll(rows) ? tf.clone(x) : tf.gather(x, index));
      return this.layers.map(({ keys, values }) => ({ keys: pick(keys), values: pick(values) }));
    });
    return new WorkingCache(this.shape, rows, this.positions, layers);
  }

  /**
   * Writes a working cache back, with what was appended to it.
   * @param place position of appended token `step` of a row; null where there is none, as in spare rows
   */
  put(working: WorkingCache, place: (row: number, step: number) => number | null): void {
    working.settle(place);
    const { slotOf } = working;
    const all = this.isAll(slotOf);
    const layers = tf.tidy(() => {
      const index = tf.tensor2d(slotOf, [slotOf.length, 1], 'int32');
      const update = (old: tf.Tensor4D, x: tf.Tensor4D): tf.Tensor4D =>
        all ? tf.clone(x) : tf.tensorScatterUpdate(old, index, x);
      return this.layers.map(({ keys, values }, l) => ({
        keys: update(keys, working.layers[l]!.keys),
        values: update(values, working.layers[l]!.values),
      }));
    });
    this.dispose();
    this.layers = layers;
  }

  dispose(): void {
    for (const { keys, values } of this.layers) tf.dispose([keys, values]);
  }

  /** The row of each slot; spare rows are copies of the cache's last row, which is spare too. */
  private rowsOf(slots: readonly number[]): Int32Array {
    const spare = rowsFor(this.slots) - 1;
    return Int32Array.from({ length: rowsFor(slots.length) }, (_, row) => slots[row] ?? spare);
  }

  /** Whether rows are all slots in order: nothing has to be picked then. */
  private isAll(rows: Int32Array): boolean {
    return rows.length === rowsFor(this.slots) && rows.every((slot, row) => slot === row || row >= this.slots);
  }
}

/** Caches of the jobs of one call, `rows` of them. `dispose` frees them. */
export class WorkingCache {
  constructor(
    private readonly shape: ModelShape,
    /** [rows] slot of each row. */
    readonly slotOf: Int32Array,
    readonly positions: number,
    public layers: KeyValue[],
  ) {}

  get rows(): number {
    return this.slotOf.length;
  }

  /** Writes the tokens of a grid into the cache; they attend to all of it. Call inside `tf.tidy`. */
  writer(places: readonly (TokenPlace | null)[], length: number): Attended {
    const index = this.index(length, (row, i) => places[row * length + i]?.position ?? null);
    return (layer, own) => this.update(layer, (cache, x) => this.scatter(cache, index, x), own);
  }

  /** Appends one token a row behind the cache; it attends to all of it. Call inside `tf.tidy`. */
  appender(): Attended {
    return (layer, own) => this.update(layer, (cache, x) => tf.concat([cache, x], 2), own);
  }

  /** Moves what was appended to its place. @param place see `KvCache.put` */
  settle(place: (row: number, step: number) => number | null): void {
    const { positions, rows } = this;
    const { heads, dModel } = this.shape;
    const steps = this.layers[0]!.keys.shape[2] - positions;
    if (steps === 0) return;
    tf.tidy(() => {
      const index = this.index(steps, place);
      const part = (x: tf.Tensor4D, from: number, count: number) =>
        tf.slice(x, [0, 0, from, 0], [rows, heads, count, dModel / heads]);
      this.layers.forEach((all, layer) => {
        const tail = { keys: part(all.keys, positions, steps), values: part(all.values, positions, steps) };
        this.update(layer, (cache, x) => this.scatter(part(cache, 0, positions), index, x), tail);
      });
    });
  }

  dispose(): void {
    for (const { keys, values } of this.layers) tf.dispose([keys, values]);
  }

  /** Replaces the cache of a layer. */
  private update(layer: number, change: (cache: tf.Tensor4D, x: tf.Tensor4D) => tf.Tensor4D, own: KeyValue): KeyValue {
    const old = this.layers[layer]!;
    const next = { keys: tf.keep(change(old.keys, own.keys)), values: tf.keep(change(old.values, own.values)) };
    tf.dispose([old.keys, old.values]);
    this.layers[layer] = next;
    return next;
  }

  /** Writes x [rows, heads, n, width] to where `index` says. @returns [rows, heads, positions, width] */
  private scatter(cache: tf.Tensor4D, index: tf.Tensor2D, x: tf.Tensor4D): tf.Tensor4D {
    const width = cache.shape[3];
    const flat = tf.reshape(cache, [-1, width]);
    return tf.reshape(tf.tensorScatterUpdate(flat, index, tf.reshape(x, [-1, width])), cache.shape);
  }

  /** [rows × heads × n, 1] row of each vector in the flattened cache; what has no place goes to the spare row. */
  private index(n: number, place: (row: number, i: number) => number | null): tf.Tensor2D {
    const { heads } = this.shape;
    const { rows, positions } = this;
    const index = new Int32Array(rows * heads * n);
    for (let row = 0, at = 0; row < rows; row++) {
      const positionsOf = Array.from({ length: n }, (_, i) => place(row, i));
      for (let head = 0; head < heads; head++)
        for (const position of positionsOf) {
          const target = position === null ? rows - 1 : row;
          index[at++] = (target * heads + head) * positions + (position ?? 0);
        }
    }
    return tf.tensor2d(index, [index.length, 1], 'int32');
  }
}
