/**
 * The loss of one optimiser step in float64, written as nested means over rollouts, segments and tokens (the words of
 * docs/algorithm.md section 4) instead of token weights. Imports nothing from src. Gradients come from finite differences of it
 * (`differences`), not from a second derivation.
 */
export interface OracleToken {
  logp: number;
  entropy: number;
  value: number;
  readonly oldLogp: number;
  readonly advantage: number;
  readonly target: number;
  readonly oldValue: number;
  readonly referenceLogp: number;
}

export interface OracleSegment {
  readonly summary: boolean;
  readonly tokens: OracleToken[];
}

/** Rollouts of segments of tokens. */
export type OracleStep = OracleSegment[][];

export interface OracleOptions {
  readonly objective: 'ppo' | 'clone';
  readonly lossNorm: 'token' | 'segment' | 'rollout' | 'split';
  readonly trainSummary: boolean;
  readonly policyCoef: number;
  readonly valueCoef: number;
  readonly entropyCoef: number;
  readonly klCoef: number;
  readonly clip: number;
  readonly valueClip: number;
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;

/** Reduces a per-token quantity as L_π is reduced. */
export function reduceTokens(step: OracleStep, options: OracleOptions, of: (t: OracleToken) => number): number {
  const kept = step
    .map((rollout) => rollout.filter((s) => (options.trainSummary || !s.summary) && s.tokens.length > 0))
    .filter((rollout) => rollout.length > 0);
  const numbers = kept.map((rollout) => rollout.map((s) => s.tokens.map(of)));
  switch (options.lossNorm) {
    case 'token':
      return mean(numbers.flat(2));
    case 'segment':
      return mean(numbers.flat().map(mean));
    case 'rollout':
      return mean(numbers.map((rollout) => mean(rollout.flat())));
    case 'split': {
      const ofKind = (summary: boolean) => kept.flat().flatMap((s) => (s.summary === summary ? s.tokens.map(of) : []));
      return mean(ofKind(false)) + mean(ofKind(true));
    }
  }
}

const clamp = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);

export function surrogate(token: OracleToken, clip: number): number {
  const ratio = Math.exp(token.logp - token.oldLogp);
  return Math.min(ratio * token.advantage, clamp(ratio, 1 - clip, 1 + clip) * token.advantage);
}

export function valueLoss(token: OracleToken, valueClip: number): number {
  const plain = (token.value - token.target) ** 2;
  if (valueClip === 0) return plain / 2;
  const near = token.oldValue + clamp(token.value - token.oldValue, -valueClip, valueClip);
  return Math.max(plain, (near - token.target) ** 2) / 2;
}

export interface OracleLoss {
  readonly loss: number;
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  readonly kl: number;
  readonly clipFraction: number;
  readonly maxRatioError: number;
}

export function oracleLoss(step: OracleStep, options: OracleOptions): OracleLoss {
  const clone = options.objective === 'clone';
  const policyLoss = -reduceTokens(step, options, (t) => (clone ? t.logp : surrogate(t, options.clip)));
  const value = mean(step.flat().flatMap((s) => s.tokens.map((t) => valueLoss(t, options.valueClip))));
  const entropyTerm = reduceTokens(step, options, (t) => t.entropy);
  const klTerm = reduceTokens(step, options, (t) => {
    const d = t.logp - t.referenceLogp;
    return Math.exp(-d) - 1 + d;
  });
  const policy = step.flat().flatMap((s) => (s.summary && !options.trainSummary ? [] : s.tokens));
  const ratios = clone ? [] : policy.map((t) => Math.exp(t.logp - t.oldLogp));
  return {
    loss:
      options.policyCoef * policyLoss +
      options.valueCoef * value -
      options.entropyCoef * entropyTerm +
      options.klCoef * klTerm,
    policyLoss,
    valueLoss: options.valueCoef === 0 ? 0 : value,
    entropy: mean(policy.map((t) => t.entropy)),
    kl: mean(ratios.map((r) => r - 1 - Math.log(r))),
    clipFraction: mean(ratios.map((r) => (Math.abs(r - 1) > options.clip ? 1 : 0))),
    maxRatioError: ratios.reduce((worst, r) => Math.max(worst, Math.abs(r - 1)), 0),
  };
}

/** Central differences of the loss by one model output of every token, in step order. O(P²). */
export function differences(step: OracleStep, options: OracleOptions, of: 'logp' | 'entropy' | 'value'): number[] {
  const h = 1e-5;
  return step.flat(1).flatMap((segment) =>
    segment.tokens.map((token) => {
      const kept = token[of];
      token[of] = kept + h;
      const up = oracleLoss(step, options).loss;
      token[of] = kept - h;
      const down = oracleLoss(step, options).loss;
      token[of] = kept;
      return (up - down) / (2 * h);
    }),
  );
}
