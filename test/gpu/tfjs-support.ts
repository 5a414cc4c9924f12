/** What the tfjs tests share: random update batches, loss options that reach every term, and the float64 oracle. */
import { RandomStream } from '../../src/core/rng';
import type { LossOptions, UpdateBatch } from '../../src/model/engine';
import type { ModelShape } from '../../src/model/parameters';
import { oracleForward, oracleTensors } from '../oracle/decode';
import type { OracleStep } from '../oracle/loss';

const base: LossOptions = {
  objective: 'ppo',
  lossNorm: 'token',
  trainSummary: true,
  policyCoef: 1,
  valueCoef: 0.5,
  entropyCoef: 0,
  klCoef: 0,
  clip: 0.2,
  valueClip: 0,
};

/** Every norm and every term, alone and together. */
export const losses: Readonly<Record<string, LossOptions>> = {
  token: base,
  segment: { ...base, lossNorm: 'segment' },
  rollout: { ...base, lossNorm: 'rollout' },
  split: { ...base, lossNorm: 'split' },
  'summaries left out': { ...base, lossNorm: 'segment', trainSummary: false, entropyCoef: 0.1, klCoef: 0.2 },
  'value clip': { ...base, policyCoef: 0, valueClip: 0.3 },
  'separate critic': { ...base, policyCoef: 0, valueCoef: 1 },
  entropy: { ...base, valueCoef: 0, entropyCoef: 0.3 },
  'entropy alone': { ...base, policyCoef: 0, valueCoef: 0, entropyCoef: 1 },
  'kl to the reference': { ...base, valueCoef: 0, klCoef: 0.7 },
  everything: { ...base, lossNorm: 'split', entropyCoef: 0.1, klCoef: 0.3, valueClip: 0.3 },
  clone: { ...base, objective: 'clone', valueCoef: 0 },
};

/** Row lengths that fill one padding step, miss it by one either way, and are as short as can be; then random ones. */
export function rowLengths(count: number, rng: RandomStream): number[] {
  return Array.from({ length: count }, (_, r) => [15, 16, 17, 2][r] ?? 2 + rng.integer(40));
}

/**
 * Rollouts of alternating execution and summary rows; the last rollout is one summary alone. Old log-probs lie around the
 * real ones, so that some ratios are clipped and some are not.
 * @param lengths tokens of each row
 */
export function randomBatch(
  shape: ModelShape,
  flat: Float32Array,
  lengths: readonly number[],
  seed: number,
): UpdateBatch {
  const rng = new RandomStream(seed, 'test', 1);
  const ids: number[] = [];
  const rowStart = [0];
  const trainable: number[] = [];
  const trainableStart = [0];
  const rollout: number[] = [];
  const kind: number[] = [];
  lengths.forEach((length, r) => {
    for (let i = 0; i < length; i++) {
      if (i > 0 && (i === length - 1 || rng.uniform() < 0.4)) trainable.push(ids.length);
      ids.push(rng.integer(shape.vocabulary));
    }
    rowStart.push(ids.length);
    trainableStart.push(trainable.length);
    const last = r === lengths.length - 1;
    rollout.push(last ? 99 : Math.floor(r / 3));
    kind.push(last ? 1 : (r % 3) % 2);
  });
  const rows = {
    ids: Uint32Array.from(ids),
    rowStart: Uint32Array.from(rowStart),
    trainable: Uint32Array.from(trainable),
    trainableStart: Uint32Array.from(trainableStart),
    kind: Uint8Array.from(kind),
    rollout: Uint32Array.from(rollout),
  };
  const outputs = oracleOutputs(shape, flat, rows);
  const near = (values: readonly number[], spread: number) =>
    Float32Array.from(values, (x) => x + spread * rng.normal());
  const logp = outputs.map((o) => o.logp);
  const values = outputs.map((o) => o.value);
  return {
    ...rows,
    oldLogp: near(logp, 0.25),
    referenceLogp: near(logp, 0.5),
    oldValues: near(values, 0.3),
    targets: near(values, 1),
    advantages: near(new Array(trainable.length).fill(0), 1),
  };
}

export interface OracleOutput {
  readonly logp: number;
  readonly entropy: number;
  readonly value: number;
}

/** Model outputs of every trainable token in float64. */
export function oracleOutputs(
  shape: ModelShape,
  flat: ArrayLike<number>,
  rows: Pick<UpdateBatch, 'ids' | 'rowStart' | 'trainable' | 'trainableStart'>,
): OracleOutput[] {
  const tensors = oracleTensors(shape, flat);
  const all: OracleOutput[] = [];
  for (let r = 0; r + 1 < rows.rowStart.length; r++) {
    const from = rows.rowStart[r]!;
    const states = oracleForward(shape, tensors, [...rows.ids.subarray(from, rows.rowStart[r + 1]!)]);
    for (const token of rows.trainable.subarray(rows.trainableStart[r]!, rows.trainableStart[r + 1]!)) {
      const { logp, value } = states[token - from - 1]!;
      all.push({ logp: logp[rows.ids[token]!]!, entropy: -logp.reduce((a, l) => a + Math.exp(l) * l, 0), value });
    }
  }
  return all;
}

/** A batch and the model's outputs in the form the loss oracle reads. */
export function oracleStep(batch: UpdateBatch, outputs: readonly OracleOutput[]): OracleStep {
  const step: OracleStep = [];
  batch.rollout.forEach((number, r) => {
    if (r === 0 || number !== batch.rollout[r - 1]) step.push([]);
    const tokens = outputs.slice(batch.trainableStart[r]!, batch.trainableStart[r + 1]!).map((output, i) => {
      const p = batch.trainableStart[r]! + i;
      return {
        ...output,
        oldLogp: batch.oldLogp[p]!,
        advantage: batch.advantages[p]!,
        target: batch.targets[p]!,
        oldValue: batch.oldValues[p]!,
        referenceLogp: batch.referenceLogp![p]!,
      };
    });
    step[step.length - 1]!.push({ summary: batch.kind[r] === 1, tokens });
  });
  return step;
}
