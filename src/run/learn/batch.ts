/** Packs the segments of rollouts into the flat arrays an engine takes. */
import type { Rollout, Segment } from '../../core/trajectory/trajectory';
import type { AdvantageBatch, PackedRows, UpdateBatch } from '../../model/engine';

/** Packed rows with where each comes from. */
export interface TrainingRows extends PackedRows {
  readonly segments: readonly Segment[];
  /** [S + 1] row that segment s lies in, from the row's first token on; the last entry is R. */
  readonly segmentRow: Uint32Array;
  /** [S] 0 execution, 1 summary. */
  readonly kind: Uint8Array;
  /** [S] index of the rollout in the packed list. */
  readonly rollout: Uint32Array;
  /** [N + 1] rollout n owns segments rolloutStart[n] .. rolloutStart[n+1]. */
  readonly rolloutStart: Uint32Array;
  /** [P] */
  readonly oldLogp: Float32Array;
  /** [P] values seen while decoding (value head of the policy). */
  readonly decodeValues: Float32Array;
}

/**
 * Packs all segments, ordered by rollout and segment: the order, and so every sum, is the same for any worker count. A
 * segment that the next one of its rollout continues token by token shares that one's row (docs/algorithm.md section 2):
 * the model reads the common tokens once.
 */
export function packRollouts(rollouts: readonly Rollout[]): TrainingRows {
  const segments = rollouts.flatMap((r) => r.segments);
  const count = segments.length;
  const kind = Uint8Array.from(segments, (s) => (s.kind === 'summary' ? 1 : 0));
  const rollout = new Uint32Array(count);
  const rolloutStart = new Uint32Array(rollouts.length + 1);
  rollouts.forEach((r, n) => {
    rolloutStart[n + 1] = rolloutStart[n]! + r.segments.length;
    rollout.fill(n, rolloutStart[n], rolloutStart[n + 1]);
  });
  const segmentRow = new Uint32Array(count + 1);
  for (let s = 0; s < count; s++) {
    const shares = s + 1 < count && rollout[s] === rollout[s + 1] && continues(segments[s]!, segments[s + 1]!);
    segmentRow[s + 1] = segmentRow[s]! + (shares ? 0 : 1);
  }
  const rowStart = new Uint32Array(segmentRow[count]! + 1);
  const trainableStart = new Uint32Array(count + 1);
  segments.forEach(({ ids, mask }, s) => {
    const row = segmentRow[s]!;
    // The last segment of a row is its longest.
    rowStart[row + 1] = rowStart[row]! + ids.length;
    let tokens = trainableStart[s]!;
    for (const m of mask) tokens += m;
    trainableStart[s + 1] = tokens;
  });
  const tokens = trainableStart[count]!;
  const packed = {
    ids: new Uint32Array(rowStart[rowStart.length - 1]!),
    trainable: new Uint32Array(tokens),
    oldLogp: new Float32Array(tokens),
    decodeValues: new Float32Array(tokens),
  };
  segments.forEach(({ ids, mask, logp, values }, s) => {
    const at = rowStart[segmentRow[s]!]!;
    packed.ids.set(ids, at);
    let p = trainableStart[s]!;
    for (let i = 0; i < mask.length; i++) {
      if (mask[i] === 0) continue;
      packed.trainable[p] = at + i;
      packed.oldLogp[p] = logp[i]!;
      packed.decodeValues[p] = values[i]!;
      p++;
    }
  });
  return { ...packed, segments, segmentRow, rowStart, trainableStart, kind, rollout, rolloutStart };
}

/** Whether `next` begins with all tokens of `segment` and trains none of them: one forward pass then serves both. */
function continues(segment: Segment, next: Segment): boolean {
  const { length } = segment.ids;
  if (next.ids.length < length || next.mask.indexOf(1) < length) return false;
  for (let i = 0; i < length; i++) if (segment.ids[i] !== next.ids[i]) return false;
  return true;
}

/** The advantage kernel's view of packed rows. */
export function advantageBatch(
  rows: TrainingRows,
  values: Float32Array,
  rewards: Float32Array,
  lambda: Float64Array,
): AdvantageBatch {
  return { values, trainableStart: rows.trainableStart, rolloutStart: rows.rolloutStart, rewards, lambda };
}

/** Per-token arrays of an iteration, aligned with `TrainingRows.trainable`. */
export interface TokenArrays {
  readonly oldLogp: Float32Array;
  readonly advantages: Float32Array;
  readonly targets: Float32Array;
  readonly oldValues: Float32Array;
  readonly referenceLogp?: Float32Array;
}

/** A stretch of a packed array. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One minibatch: the rows of the chosen rollouts, in ascending rollout order. */
export function selectRollouts(rows: TrainingRows, tokens: TokenArrays, chosen: readonly number[]): UpdateBatch {
  const rollouts = [...chosen].sort((a, b) => a - b).map((n) => ({ from: n, to: n + 1 }));
  const through = (starts: Uint32Array, spans: readonly Span[]) =>
    spans.map(({ from, to }): Span => ({ from: starts[from]!, to: starts[to]! }));
  const segments = through(rows.rolloutStart, rollouts);
  const rowSpans = through(rows.segmentRow, segments);
  const ids = through(rows.rowStart, rowSpans);
  const trained = through(rows.trainableStart, segments);
  const trainable = gather(rows.trainable, trained);
  let token = 0;
  let id = 0;
  trained.forEach(({ from, to }, k) => {
    const shift = id - ids[k]!.from;
    for (const end = token + to - from; token < end; token++) trainable[token]! += shift;
    id += ids[k]!.to - ids[k]!.from;
  });
  return {
    ids: gather(rows.ids, ids),
    rowStart: offsets(rows.rowStart, rowSpans),
    trainable,
    trainableStart: offsets(rows.trainableStart, segments),
    kind: gather(rows.kind, segments),
    rollout: gather(rows.rollout, segments),
    oldLogp: gather(tokens.oldLogp, trained),
    advantages: gather(tokens.advantages, trained),
    targets: gather(tokens.targets, trained),
    oldValues: gather(tokens.oldValues, trained),
    ...(tokens.referenceLogp ? { referenceLogp: gather(tokens.referenceLogp, trained) } : {}),
  };
}

/** The stretches one after the other. */
export function gather<T extends Uint8Array | Uint32Array | Float32Array>(source: T, spans: readonly Span[]): T {
  const length = spans.reduce((n, { from, to }) => n + to - from, 0);
  const result = new (source.constructor as new (length: number) => T)(length);
  let at = 0;
  for (const { from, to } of spans) {
    result.set(source.subarray(from, to), at);
    at += to - from;
  }
  return result;
}

/** Offsets of the items of the stretches when they are packed anew, from 0. */
function offsets(starts: Uint32Array, spans: readonly Span[]): Uint32Array {
  const result = new Uint32Array(spans.reduce((n, { from, to }) => n + to - from, 1));
  let at = 0;
  for (const { from, to } of spans)
    for (let i = from; i < to; i++, at++) result[at + 1] = result[at]! + starts[i + 1]! - starts[i]!;
  return result;
}

/** Writes per-token arrays back into the segments they belong to, so that nothing of a token is lost. */
export function writeBack(rows: TrainingRows, field: 'values' | 'advantages' | 'targets', source: Float32Array): void {
  rows.segments.forEach((segment, s) => {
    const start = rows.rowStart[rows.segmentRow[s]!]!;
    for (let p = rows.trainableStart[s]!; p < rows.trainableStart[s + 1]!; p++)
      segment[field][rows.trainable[p]! - start] = source[p]!;
  });
}
