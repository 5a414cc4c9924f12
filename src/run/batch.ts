/** Packs the segments of rollouts into the flat arrays an engine takes. */
import type { Rollout, Segment } from '../core/trajectory';
import type { AdvantageBatch, PackedRows, UpdateBatch } from '../model/engine';

/** Packed rows with where each comes from. */
export interface TrainingRows extends PackedRows {
  readonly segments: readonly Segment[];
  /** [R] 0 execution, 1 summary. */
  readonly kind: Uint8Array;
  /** [R] index of the rollout in the packed list. */
  readonly rollout: Uint32Array;
  /** [N + 1] rollout n owns rows rolloutStart[n] .. rolloutStart[n+1]. */
  readonly rolloutStart: Uint32Array;
  /** [P] */
  readonly oldLogp: Float32Array;
  /** [P] values seen while decoding (value head of the policy). */
  readonly decodeValues: Float32Array;
}

/** Packs all segments, ordered by rollout and segment: the order, and so every sum, is the same for any worker count. */
export function packRollouts(rollouts: readonly Rollout[]): TrainingRows {
  const segments = rollouts.flatMap((r) => r.segments);
  const tokens = segments.reduce((n, s) => n + s.ids.length, 0);
  const ids = new Uint32Array(tokens);
  const rowStart = new Uint32Array(segments.length + 1);
  const trainableStart = new Uint32Array(segments.length + 1);
  const trainable: number[] = [];
  const oldLogp: number[] = [];
  const decodeValues: number[] = [];
  segments.forEach((segment, r) => {
    const at = rowStart[r]!;
    ids.set(segment.ids, at);
    rowStart[r + 1] = at + segment.ids.length;
    segment.mask.forEach((m, i) => {
      if (m === 0) return;
      trainable.push(at + i);
      oldLogp.push(segment.logp[i]!);
      decodeValues.push(segment.values[i]!);
    });
    trainableStart[r + 1] = trainable.length;
  });
  const rolloutStart = new Uint32Array(rollouts.length + 1);
  rollouts.forEach((r, n) => {
    rolloutStart[n + 1] = rolloutStart[n]! + r.segments.length;
  });
  return {
    segments,
    ids,
    rowStart,
    trainable: Uint32Array.from(trainable),
    trainableStart,
    kind: Uint8Array.from(segments, (s) => (s.kind === 'summary' ? 1 : 0)),
    rollout: Uint32Array.from(rollouts.flatMap((r, n) => r.segments.map(() => n))),
    rolloutStart,
    oldLogp: Float32Array.from(oldLogp),
    decodeValues: Float32Array.from(decodeValues),
  };
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

/** One minibatch: the rows of the chosen rollouts, in ascending rollout order. */
export function selectRollouts(rows: TrainingRows, tokens: TokenArrays, chosen: readonly number[]): UpdateBatch {
  const order = [...chosen].sort((a, b) => a - b);
  const rowList = order.flatMap((n) => range(rows.rolloutStart[n]!, rows.rolloutStart[n + 1]!));
  const ids: number[] = [];
  const rowStart = [0];
  const trainable: number[] = [];
  const trainableStart = [0];
  const picked: number[] = [];
  for (const r of rowList) {
    const shift = ids.length - rows.rowStart[r]!;
    for (let i = rows.rowStart[r]!; i < rows.rowStart[r + 1]!; i++) ids.push(rows.ids[i]!);
    rowStart.push(ids.length);
    for (let p = rows.trainableStart[r]!; p < rows.trainableStart[r + 1]!; p++) {
      trainable.push(rows.trainable[p]! + shift);
      picked.push(p);
    }
    trainableStart.push(trainable.length);
  }
  const gather = (from: Float32Array) => Float32Array.from(picked, (p) => from[p]!);
  return {
    ids: Uint32Array.from(ids),
    rowStart: Uint32Array.from(rowStart),
    trainable: Uint32Array.from(trainable),
    trainableStart: Uint32Array.from(trainableStart),
    kind: Uint8Array.from(rowList, (r) => rows.kind[r]!),
    rollout: Uint32Array.from(rowList, (r) => rows.rollout[r]!),
    oldLogp: gather(tokens.oldLogp),
    advantages: gather(tokens.advantages),
    targets: gather(tokens.targets),
    oldValues: gather(tokens.oldValues),
    ...(tokens.referenceLogp ? { referenceLogp: gather(tokens.referenceLogp) } : {}),
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Writes per-token arrays back into the segments they belong to, so that nothing of a token is lost. */
export function writeBack(rows: TrainingRows, field: 'values' | 'advantages' | 'targets', source: Float32Array): void {
  rows.segments.forEach((segment, r) => {
    for (let p = rows.trainableStart[r]!; p < rows.trainableStart[r + 1]!; p++)
      segment[field][rows.trainable[p]! - rows.rowStart[r]!] = source[p]!;
  });
}
