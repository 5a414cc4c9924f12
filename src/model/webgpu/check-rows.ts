/** Checks of packed rows: a wrong index would read or write another row's memory on the device without a word. */
import { LabError } from '../../core/errors';
import type { PackedRows, UpdateBatch } from '../engine';
import type { ModelShape } from '../parameters';

/**
 * @throws `rows.invalid` naming the row, when offsets, lengths, ids or trainable tokens do not fit together
 */
export function checkRows(rows: PackedRows, shape: ModelShape): void {
  const { ids, rowStart, trainable, trainableStart } = rows;
  const reject = (where: string, expected: string, got: unknown): never => {
    throw new LabError({
      code: 'rows.invalid',
      what: 'Packed rows do not fit together',
      where,
      expected,
      got: String(got),
    });
  };
  const count = rowStart.length - 1;
  if (count < 0 || trainableStart.length !== rowStart.length)
    reject('trainableStart', `${rowStart.length} offsets, as in rowStart`, trainableStart.length);
  if (rowStart[0] !== 0 || rowStart[count] !== ids.length)
    reject('rowStart', `offsets from 0 to ${ids.length}`, `${rowStart[0]} to ${rowStart[count]}`);
  if (trainableStart[0] !== 0 || trainableStart[count] !== trainable.length)
    reject(
      'trainableStart',
      `offsets from 0 to ${trainable.length}`,
      `${trainableStart[0]} to ${trainableStart[count]}`,
    );
  for (let row = 0; row < count; row++) {
    const start = rowStart[row]!;
    const end = rowStart[row + 1]!;
    if (end <= start || end - start > shape.positions)
      reject(`row ${row}`, `1 to ${shape.positions} tokens (the model's positions)`, end - start);
    let previous = start;
    if (trainableStart[row + 1]! < trainableStart[row]!)
      reject(`row ${row}`, 'trainableStart not falling', trainableStart[row + 1]);
    for (let p = trainableStart[row]!; p < trainableStart[row + 1]!; p++) {
      const t = trainable[p]!;
      if (t <= previous || t >= end) reject(`row ${row}`, `ascending trainable tokens in (${start}, ${end})`, t);
      previous = t;
    }
  }
  const bad = ids.findIndex((id) => id >= shape.vocabulary);
  if (bad >= 0) reject(`ids[${bad}]`, `a token id below ${shape.vocabulary}`, ids[bad]);
}

/**
 * @throws `rows.invalid` when the batch has no trainable token, or an array has not the length the rows demand
 */
export function checkBatch(batch: UpdateBatch, shape: ModelShape): void {
  checkRows(batch, shape);
  const tokens = batch.trainable.length;
  const rows = batch.rowStart.length - 1;
  if (tokens === 0)
    throw new LabError({
      code: 'rows.invalid',
      what: 'An update needs at least one trainable token',
      where: 'trainable',
      expected: 'at least 1',
      got: '0',
    });
  const lengths: [string, ArrayLike<number> | undefined, number][] = [
    ['kind', batch.kind, rows],
    ['rollout', batch.rollout, rows],
    ['oldLogp', batch.oldLogp, tokens],
    ['advantages', batch.advantages, tokens],
    ['targets', batch.targets, tokens],
    ['oldValues', batch.oldValues, tokens],
    ['referenceLogp', batch.referenceLogp, tokens],
  ];
  for (const [where, array, expected] of lengths)
    if (array && array.length !== expected)
      throw new LabError({
        code: 'rows.invalid',
        what: 'An update batch does not fit together',
        where,
        expected: `${expected} numbers`,
        got: `${array.length}`,
      });
}
