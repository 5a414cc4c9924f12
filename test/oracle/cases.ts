/** Seeded random rollouts and steps, and their packed form. All numbers are float32, so that oracle and kernel read the same. */
import type { OracleRollout } from './advantages';
import type { OracleOptions, OracleSegment, OracleStep, OracleToken } from './loss';

/** Mulberry32: uniform in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const integer = (random: () => number, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1));

/** A rollout of segments with the given token counts; λ per segment. */
export function randomRollout(random: () => number, counts: readonly number[], gamma: number): OracleRollout {
  return {
    segments: counts.map((n) => Array.from({ length: n }, () => Math.fround(2 * random() - 1))),
    reward: Math.fround(random() < 0.3 ? 0 : random()),
    gamma,
    lambda: counts.map(() => 0.6 + 0.4 * random()),
  };
}

/** Packs rollouts as `AdvantageBatch`. */
export function packRollouts(rollouts: readonly OracleRollout[]) {
  const rows = rollouts.flatMap((r) => r.segments);
  return {
    values: Float32Array.from(rows.flat()),
    trainableStart: starts(rows.map((r) => r.length)),
    rolloutStart: starts(rollouts.map((r) => r.segments.length)),
    rewards: Float32Array.from(rollouts, (r) => r.reward),
    lambda: Float64Array.from(rollouts.flatMap((r) => r.lambda)),
  };
}

/** Offsets: 0, then the running total. */
export function starts(counts: readonly number[]): Uint32Array<ArrayBuffer> {
  const out = new Uint32Array(counts.length + 1);
  counts.forEach((n, i) => {
    out[i + 1] = out[i]! + n;
  });
  return out;
}

/** ε and ε_v of the random steps; ratios and value changes keep away from the kinks, where float32 may fall either side. */
export const CLIP = 0.2;
export const VALUE_CLIP = 0.15;

function randomToken(random: () => number): OracleToken {
  const oldLogp = Math.fround(-4 * random());
  let logp = oldLogp;
  do logp = Math.fround(oldLogp + 1.2 * (random() - 0.5));
  while (Math.abs(Math.abs(Math.exp(logp - oldLogp) - 1) - CLIP) < 1e-3);
  const oldValue = Math.fround(random());
  const target = Math.fround(2 * random() - 0.5);
  let value = oldValue;
  do value = Math.fround(oldValue + 0.8 * (random() - 0.5));
  while (
    Math.abs(Math.abs(value - oldValue) - VALUE_CLIP) < 1e-3 ||
    Math.abs(valueKink(value, oldValue, target)) < 1e-3
  );
  return {
    logp,
    entropy: Math.fround(3 * random()),
    value,
    oldLogp,
    advantage: Math.fround(random() < 0.1 ? 0 : 4 * random() - 2),
    target,
    oldValue,
    referenceLogp: Math.fround(logp + random() - 0.5),
  };
}

/** Zero where the two branches of the clipped value loss meet. */
function valueKink(value: number, oldValue: number, target: number): number {
  const change = value - oldValue;
  if (Math.abs(change) <= VALUE_CLIP) return 1;
  return (value - target) ** 2 - (oldValue + Math.sign(change) * VALUE_CLIP - target) ** 2;
}

/** A segment of n random tokens. */
export function randomSegment(random: () => number, summary: boolean, n: number): OracleSegment {
  return { summary, tokens: Array.from({ length: n }, () => randomToken(random)) };
}

/** A step of rollouts, each of up to five alternating segments of 1 to `most` tokens. */
export function randomStep(random: () => number, rollouts: number, most: number): OracleStep {
  return Array.from({ length: rollouts }, () =>
    Array.from({ length: integer(random, 1, 5) }, (_, s) =>
      randomSegment(random, s % 2 === 1, integer(random, 1, most)),
    ),
  );
}

/** Packs a step as `LossBatch` and model outputs. */
export function packStep(step: OracleStep) {
  const rows = step.flatMap((rollout, n) => rollout.map((segment) => ({ n, segment })));
  const tokens = rows.flatMap((r) => r.segment.tokens);
  const of = (pick: (t: OracleToken) => number) => Float32Array.from(tokens, pick);
  return {
    batch: {
      kind: Uint8Array.from(rows, (r) => (r.segment.summary ? 1 : 0)),
      rollout: Uint32Array.from(rows, (r) => r.n * 7 + 3),
      trainableStart: starts(rows.map((r) => r.segment.tokens.length)),
      oldLogp: of((t) => t.oldLogp),
      advantages: of((t) => t.advantage),
      targets: of((t) => t.target),
      oldValues: of((t) => t.oldValue),
      referenceLogp: of((t) => t.referenceLogp),
    },
    logp: of((t) => t.logp),
    entropy: of((t) => t.entropy),
    values: of((t) => t.value),
  };
}

export const lossNorms = ['token', 'segment', 'rollout', 'split'] as const;

/** All terms on, to be overridden. */
export const allTerms: OracleOptions = {
  objective: 'ppo',
  lossNorm: 'token',
  trainSummary: true,
  policyCoef: 1,
  valueCoef: 0.5,
  entropyCoef: 0.01,
  klCoef: 0.1,
  clip: CLIP,
  valueClip: VALUE_CLIP,
};

/** Options that differ in every way that matters. */
export const variants: readonly (readonly [string, OracleOptions])[] = [
  ...lossNorms.flatMap((lossNorm) =>
    [true, false].map(
      (trainSummary) =>
        [
          `${lossNorm}, summaries ${trainSummary ? 'trained' : 'left out'}`,
          { ...allTerms, lossNorm, trainSummary },
        ] as const,
    ),
  ),
  ['clone', { ...allTerms, objective: 'clone', klCoef: 0 }],
  ['critic alone', { ...allTerms, policyCoef: 0, entropyCoef: 0, klCoef: 0, valueCoef: 1 }],
  ['policy alone, no value clip', { ...allTerms, valueCoef: 0, entropyCoef: 0, klCoef: 0, valueClip: 0 }],
  ['value without clip', { ...allTerms, valueClip: 0 }],
];
