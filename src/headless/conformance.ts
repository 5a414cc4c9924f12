/**
 * Lines of the conformance commands: JSON text → checked, packed arrays → JSON. Packing keeps the mask-1 tokens only, so
 * that nothing at a masked position can reach a kernel; rows without one are dropped, as in training.
 */
import * as v from 'valibot';
import type { AdvantageOptions, LossBatch, LossOptions } from '../core/algorithm/algorithm';
import { LabError } from '../core/errors';
import { badShape, parseLine } from './conformance-line';

/** Every number at a mask-1 position must fit float32, or the kernels could not represent it. */
const number = v.pipe(v.number(), v.finite());
const unit = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
const bit = v.picklist([0, 1]);
const kind = v.picklist(['execution', 'summary']);

const advantageLine = v.strictObject({
  mode: v.picklist(['paper', 'uncorrected', 'stitched', 'last-only']),
  reward: number,
  gamma: unit,
  lam: unit,
  segments: v.pipe(v.array(v.strictObject({ kind, values: v.array(number), mask: v.array(bit) })), v.minLength(1)),
});

const lossLine = v.strictObject({
  norm: v.picklist(['token', 'segment', 'rollout', 'split']),
  clip: v.pipe(v.number(), v.finite(), v.minValue(0)),
  rollouts: v.array(v.array(v.pipe(v.number(), v.integer(), v.minValue(0)))),
  segments: v.pipe(
    v.array(
      v.strictObject({
        kind,
        mask: v.array(bit),
        oldLogp: v.array(number),
        logp: v.array(number),
        advantages: v.array(number),
      }),
    ),
    v.minLength(1),
  ),
});

/** Rows as they came (per token of the segment) and where the mask-1 tokens lie in them. */
interface Packing {
  /** Position in the line of each packed token: [segment, index]. */
  readonly places: readonly (readonly [number, number])[];
  /** Length of every segment of the line. */
  readonly lengths: readonly number[];
}

export interface AdvantageRequest extends Packing {
  readonly batch: {
    readonly values: readonly number[];
    readonly trainableStart: readonly number[];
    readonly rolloutStart: readonly number[];
    readonly rewards: readonly number[];
    readonly lambda: readonly number[];
  };
  readonly options: AdvantageOptions;
}

export interface LossRequest extends Packing {
  readonly batch: LossBatch;
  /** [P] current log-probs. */
  readonly logp: readonly number[];
  readonly options: LossOptions;
}

/**
 * Reads one line of `lab advantages`. The segments are one rollout, in order.
 * @param line number of the line, from 1
 * @throws `input.bad-json`, `input.bad-shape` naming line and key
 */
export function parseAdvantageLine(text: string, line: number): AdvantageRequest {
  const input = parseLine(advantageLine, text, line);
  const { places, trainableStart } = packTokens(
    input.segments.map((_, s) => s),
    input.segments,
    ['values'],
    line,
  );
  const rows = trainableStart.length - 1;
  return {
    places,
    lengths: input.segments.map((s) => s.mask.length),
    batch: {
      values: places.map(([s, i]) => input.segments[s]!.values[i]!),
      trainableStart,
      rolloutStart: [0, rows],
      rewards: [inFloat32(input.reward, line, 'reward')],
      lambda: new Array<number>(rows).fill(input.lam),
    },
    options: { mode: input.mode, gamma: input.gamma, valueTarget: 'local' },
  };
}

/**
 * Reads one line of `lab loss`: the policy term L_π alone.
 * @throws `input.bad-json`, `input.bad-shape` naming line and key
 */
export function parseLossLine(text: string, line: number): LossRequest {
  const { segments, rollouts, norm, clip } = parseLine(lossLine, text, line);
  const owner = ownerOfSegments(rollouts, segments.length, line);
  const order = rollouts.flat();
  const { places, trainableStart, rows } = packTokens(order, segments, ['oldLogp', 'logp', 'advantages'], line);
  const pick = (key: 'oldLogp' | 'logp' | 'advantages') => places.map(([s, i]) => segments[s]![key][i]!);
  const zeros = new Array<number>(places.length).fill(0);
  return {
    places,
    lengths: segments.map((s) => s.mask.length),
    batch: {
      kind: rows.map((s) => (segments[s]!.kind === 'summary' ? 1 : 0)),
      rollout: rows.map((s) => owner[s]!),
      trainableStart,
      oldLogp: pick('oldLogp'),
      advantages: pick('advantages'),
      targets: zeros,
      oldValues: zeros,
    },
    logp: pick('logp'),
    options: {
      objective: 'ppo',
      lossNorm: norm,
      trainSummary: true,
      policyCoef: 1,
      valueCoef: 0,
      entropyCoef: 0,
      klCoef: 0,
      clip,
      valueClip: 0,
    },
  };
}

/**
 * Puts packed results back where their tokens were; 0 at masked positions.
 * @throws `result.non-finite` when a result is NaN or infinite: JSON has no word for it
 */
export function scatter({ places, lengths }: Packing, packed: ArrayLike<number>, line: number): number[][] {
  const out = lengths.map((n) => new Array<number>(n).fill(0));
  places.forEach(([segment, index], p) => {
    out[segment]![index] = finiteResult(packed[p]!, line, `segments[${segment}], token ${index}`);
  });
  return out;
}

/** @throws `result.non-finite` */
export function finiteResult(value: number, line: number, where: string): number {
  if (Number.isFinite(value)) return value;
  throw new LabError({
    code: 'result.non-finite',
    what: 'The result is not a finite float32 number',
    where: `line ${line}, ${where}`,
    got: String(value),
    fix: 'Use smaller numbers.',
  });
}

function inFloat32(value: number, line: number, key: string): number {
  if (Number.isFinite(Math.fround(value))) return value;
  throw badShape(line, key, 'a number in the range of float32', String(value), 'Use a smaller number.');
}

/**
 * Mask-1 tokens of the segments in `order`.
 * @returns their places, the rows that have any, and where each row's tokens start
 */
function packTokens<K extends string>(
  order: readonly number[],
  segments: readonly ({ readonly mask: readonly number[] } & Readonly<Record<K, readonly number[]>>)[],
  keys: readonly K[],
  line: number,
): { places: [number, number][]; rows: number[]; trainableStart: number[] } {
  const places: [number, number][] = [];
  const rows: number[] = [];
  const trainableStart = [0];
  for (const s of order) {
    const segment = segments[s]!;
    const { mask } = segment;
    for (const key of keys)
      if (segment[key].length !== mask.length)
        throw badShape(
          line,
          `segments[${s}].${key}`,
          `${mask.length} numbers, as many as mask`,
          `${segment[key].length}`,
          `Give ${key} and mask the same length.`,
        );
    const before = places.length;
    mask.forEach((m, i) => {
      if (m === 0) return;
      for (const key of keys) inFloat32(segment[key][i]!, line, `segments[${s}].${key}[${i}]`);
      places.push([s, i]);
    });
    if (places.length === before) continue;
    rows.push(s);
    trainableStart.push(places.length);
  }
  return { places, rows, trainableStart };
}

/** The rollout of each segment; every segment must be in exactly one. */
function ownerOfSegments(rollouts: readonly (readonly number[])[], segments: number, line: number): number[] {
  const owner = new Array<number>(segments).fill(-1);
  rollouts.forEach((members, n) => {
    members.forEach((s, i) => {
      const key = `rollouts[${n}][${i}]`;
      if (s >= segments)
        throw badShape(line, key, `a segment from 0 to ${segments - 1}`, String(s), 'Segments are counted from 0.');
      if (owner[s] !== -1)
        throw badShape(line, key, 'a segment that is in no other place', String(s), 'Name every segment once.');
      owner[s] = n;
    });
  });
  const missing = owner.indexOf(-1);
  if (missing !== -1)
    throw badShape(
      line,
      'rollouts',
      'every segment in a rollout',
      `segment ${missing} in none`,
      `Add ${missing} to a rollout.`,
    );
  return owner;
}
