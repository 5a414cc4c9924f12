/** What the engines ask of packed rows. */
import type { PackedRows } from './engine';

/**
 * Offsets of each row's trainable tokens: several segments may lie in one row.
 * @returns [R + 1] row r holds trainable[out[r] .. out[r+1])
 */
export function trainableOfRows({ rowStart, trainable }: Pick<PackedRows, 'rowStart' | 'trainable'>): Uint32Array {
  const starts = new Uint32Array(rowStart.length);
  let p = 0;
  for (let r = 1; r < rowStart.length; r++) {
    while (p < trainable.length && trainable[p]! < rowStart[r]!) p++;
    starts[r] = p;
  }
  return starts;
}
