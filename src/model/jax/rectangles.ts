/**
 * Packed rows → rectangles of few different shapes: jax-js compiles a function anew for every shape that it meets, which
 * takes about a second, and on a software GPU a minute.
 */

import { byPaddedLength, type PaddedRows, padChosenRows, pieces, ROWS_STEP, roundUp } from '../autodiff/padded-rows';
import type { PackedRows } from '../engine';
import { trainableOfRows } from '../packed-rows';

/** A padded rectangle with its trainable tokens padded too. */
export interface PaddedShape {
  readonly padded: PaddedRows;
  /** Trainable tokens, padding included; at most rows × length. */
  readonly tokens: number;
}

/** Trainable tokens are padded to eighths of the rectangle. */
const TOKEN_STEPS = 8;

/**
 * Splits a batch. For each padded length: rectangles of `limit` tokens, the remainder in rectangles of a quarter of that.
 * Rows without a trainable token are left out: they change neither scores nor gradient. What a row is padded to depends
 * on itself alone.
 * @param limit tokens, padding included, per rectangle (at least `ROWS_STEP` rows)
 * @param positions longest row the model can take
 */
export function rectanglesOf(rows: PackedRows, limit: number, positions: number): PaddedShape[] {
  const { rowStart } = rows;
  const trainableStart = trainableOfRows(rows);
  const used = Array.from({ length: rowStart.length - 1 }, (_, r) => r).filter(
    (r) => trainableStart[r + 1]! > trainableStart[r]!,
  );
  return byPaddedLength(used, (r) => rowStart[r + 1]! - rowStart[r]!, positions).flatMap(({ length, items }) => {
    const quarter = Math.max(1, Math.floor(limit / length / ROWS_STEP / 4)) * ROWS_STEP;
    const whole = quarter * 4;
    const full = Math.floor(items.length / whole) * whole;
    const groups = [
      ...pieces(items.slice(0, full), whole).map((chosen) => ({ chosen, count: whole })),
      ...pieces(items.slice(full), quarter).map((chosen) => ({ chosen, count: quarter })),
    ];
    return groups.map(({ chosen, count }) => {
      const padded = padChosenRows(rows, trainableStart, chosen, length, count);
      return { padded, tokens: roundUp(padded.trainable.length, (count * length) / TOKEN_STEPS) };
    });
  });
}
