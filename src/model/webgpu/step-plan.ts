/**
 * How the rows of one call are cut into micro-batches, and all integers the kernels need, packed in one array that is
 * uploaded once. Pure.
 */
import type { PackedRows } from '../engine';
import { trainableOfRows } from '../packed-rows';
import type { ModelShape } from '../parameters';

/** A range of words of `StepPlan.words`; `at` is a multiple of 64 words, so that it can be bound. */
export interface WordRange {
  readonly at: number;
  readonly count: number;
}

/** Tokens sorted by the embedding row they read. */
export interface SortedTokens {
  /** [entries + 1] */
  readonly start: WordRange;
  /** [tokens] ascending within an entry. */
  readonly order: WordRange;
}

/** Whole rows that go through the model together. */
export interface MicroBatch {
  readonly tokens: number;
  /** [tokens] (token, previous token, position, end of the row in the micro-batch). */
  readonly records: WordRange;
  /** Trainable tokens first .. first + count of the step. */
  readonly first: number;
  readonly count: number;
  /** For the embedding gradients; absent in a plan without gradient. */
  readonly sorted?: {
    readonly token: SortedTokens;
    /** Absent in models without the previous-token embedding. */
    readonly previous?: SortedTokens;
    readonly position: SortedTokens;
  };
}

export interface StepPlan {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly microBatches: readonly MicroBatch[];
  /** [P] hidden row, counted in its micro-batch, that predicts each trainable token. */
  readonly index: WordRange;
  /** [P] ids of the trainable tokens. */
  readonly targets: WordRange;
  /**
   * What memory must hold: tokens and trainable tokens of the largest micro-batch; of a full one where there are several,
   * so that memory does not creep up as other batches fill theirs a little better.
   */
  readonly maxTokens: number;
  readonly maxCount: number;
}

const ALIGNMENT = 64;

/**
 * Rows are taken in order while they fit into `microBatchTokens`; a row is never cut, so a longer row is alone.
 */
export function splitRows(rowStart: Uint32Array, microBatchTokens: number): { from: number; to: number }[] {
  const groups: { from: number; to: number }[] = [];
  const rows = rowStart.length - 1;
  for (let from = 0; from < rows; ) {
    let to = from + 1;
    while (to < rows && rowStart[to + 1]! - rowStart[from]! <= microBatchTokens) to++;
    groups.push({ from, to });
    from = to;
  }
  return groups;
}

/** Plans one call. Rows have passed `checkRows`. */
export function planStep(
  rows: PackedRows,
  shape: ModelShape,
  options: { readonly microBatchTokens: number; readonly gradient: boolean },
): StepPlan {
  const { ids, rowStart, trainable } = rows;
  const trainableStart = trainableOfRows(rows);
  const parts: { at: number; data: Uint32Array }[] = [];
  let total = 0;
  const place = (data: Uint32Array): WordRange => {
    const at = total;
    parts.push({ at, data });
    total += Math.ceil(data.length / ALIGNMENT) * ALIGNMENT;
    return { at, count: data.length };
  };
  const index = new Uint32Array(trainable.length);
  const microBatches = splitRows(rowStart, options.microBatchTokens).map(({ from, to }): MicroBatch => {
    const base = rowStart[from]!;
    const records = tokenRecords(rows, from, to);
    const first = trainableStart[from]!;
    const end = trainableStart[to]!;
    for (let p = first; p < end; p++) index[p] = trainable[p]! - 1 - base;
    const tokens = rowStart[to]! - base;
    const sort = (field: number, entries: number): SortedTokens => {
      const { start, order } = sortTokens(records, field, entries);
      return { start: place(start), order: place(order) };
    };
    return {
      tokens,
      records: place(records),
      first,
      count: end - first,
      ...(options.gradient && {
        sorted: {
          token: sort(0, shape.vocabulary),
          ...(shape.previousToken && { previous: sort(1, shape.vocabulary) }),
          position: sort(2, shape.positions),
        },
      }),
    };
  });
  const indexRange = place(index);
  const targets = place(Uint32Array.from(trainable, (t) => ids[t]!));
  const full = microBatches.length > 1 ? options.microBatchTokens : 1;
  const words = new Uint32Array(Math.max(total, ALIGNMENT));
  for (const { at, data } of parts) words.set(data, at);
  return {
    words,
    microBatches,
    index: indexRange,
    targets,
    maxTokens: Math.max(full, ...microBatches.map((m) => m.tokens)),
    maxCount: Math.max(full, ...microBatches.map((m) => m.count)),
  };
}

/** The records of rows from .. to; see shaders/embedding.wgsl and shaders/attention.wgsl. */
function tokenRecords({ ids, rowStart }: PackedRows, from: number, to: number): Uint32Array {
  const base = rowStart[from]!;
  const records = new Uint32Array(4 * (rowStart[to]! - base));
  for (let row = from; row < to; row++) {
    const start = rowStart[row]!;
    const end = rowStart[row + 1]!;
    for (let t = start; t < end; t++) {
      const at = 4 * (t - base);
      records[at] = ids[t]!;
      records[at + 1] = t > start ? ids[t - 1]! : 0;
      records[at + 2] = t - start;
      records[at + 3] = end - base;
    }
  }
  return records;
}

/** Counting sort of tokens by one field of their records. */
function sortTokens(records: Uint32Array, field: number, entries: number): { start: Uint32Array; order: Uint32Array } {
  const tokens = records.length / 4;
  const start = new Uint32Array(entries + 1);
  for (let t = 0; t < tokens; t++) start[records[4 * t + field]! + 1]!++;
  for (let v = 0; v < entries; v++) start[v + 1]! += start[v]!;
  const next = start.slice();
  const order = new Uint32Array(tokens);
  for (let t = 0; t < tokens; t++) order[next[records[4 * t + field]!]!++] = t;
  return { start, order };
}
