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
  const segments = trainableStart.length - 1;
  if (count < 0 || rowStart[0] !== 0 || rowStart[count] !== ids.length)
    reject('rowStart', `offsets from 0 to ${ids.length}`, `${rowStart[0]} to ${rowStart[count]}`);
  if (segments < count) reject('trainableStart', `at least ${count} segments, one a row`, segments);
  if (trainableStart[0] !== 0 || trainableStart[segments] !== trainable.length)
    reject(
      'trainableStart',
      `offsets from 0 to ${trainable.length}`,
      `${trainableStart[0]} to ${trainableStart[segments]}`,
    );
  for (let row = 0; row < count; row++) {
    const length = rowStart[row + 1]! - rowStart[row]!;
    if (length < 1 || length > shape.positions)
      reject(`row ${row}`, `1 to ${shape.positions} tokens (the model's positions)`, length);
  }
  let row = 0;
  let previous = 0;
  for (let segment = 0; segment < segments; segment++) {
    const first = trainableStart[segment]!;
    const end = trainableStart[segment + 1]!;
    if (end < first) reject(`segment ${segment}`, 'trainableStart not falling', end);
    for (let p = first; p < end; p++) {
      const t = trainable[p]!;
      if (p === first) while (row < count - 1 && t >= rowStart[row + 1]!) row++;
      const from = Math.max(previous, rowStart[row] ?? 0);
      const to = rowStart[row + 1] ?? 0;
      if (t <= from || t >= to)
        reject(`row ${row}, segment ${segment}`, `ascending trainable tokens in (${from}, ${to})`, t);
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
  const segments = batch.trainableStart.length - 1;
  if (tokens === 0)
    throw new LabError({
      code: 'rows.invalid',
      what: 'An update needs at least one trainable token',
      where: 'trainable',
      expected: 'at least 1',
      got: '0',
    });
  const lengths: [string, ArrayLike<number> | undefined, number][] = [
    ['kind', batch.kind, segments],
    ['rollout', batch.rollout, segments],
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
