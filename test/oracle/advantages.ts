/**
 * Advantages of one rollout in float64, from the closed form of Eq. 13–15 instead of the recursion: O(n²) sums over
 * residuals, each with its own exponent. Imports nothing from src.
 *
 *   paper:     Â_i = x^{N_{>s}} Σ_{j ≥ i, same segment} x^{j − i} δ_j,   x = γλ_s;  so R has exponent N_{>s} + n_s − i
 *   stitched:  Â_i = Σ_{j ≥ i, whole rollout} (Π_{k = i}^{j − 1} γλ_k) δ_j
 */
export interface OracleRollout {
  /** Values of the mask-1 tokens of each segment. */
  readonly segments: readonly (readonly number[])[];
  readonly reward: number;
  readonly gamma: number;
  /** λ of each segment. */
  readonly lambda: readonly number[];
}

export type OracleMode = 'paper' | 'uncorrected' | 'stitched' | 'last-only';

/** x^n as a product of n factors; 1 for n = 0. */
function power(x: number, n: number): number {
  let product = 1;
  for (let i = 0; i < n; i++) product *= x;
  return product;
}

export function oracleAdvantages(
  rollout: OracleRollout,
  mode: OracleMode,
): { advantages: number[][]; local: number[][]; targets: number[][] } {
  const segments = rollout.segments.map((values, s) => ({ values, lambda: rollout.lambda[s]! }));
  const lastSegment = segments.reduce((last, segment, s) => (segment.values.length > 0 ? s : last), -1);
  const local = segments.map(({ values }, s) =>
    mode === 'stitched'
      ? values.map((_, i) => stitched(rollout, s, i, lastSegment))
      : values.map((_, i) => {
          const reward = mode === 'last-only' && s !== lastSegment ? 0 : rollout.reward;
          return oneSegment(values, i, reward, rollout.gamma, rollout.lambda[s]!);
        }),
  );
  const advantages = local.map((own, s) => {
    const after = segments.slice(s + 1).reduce((n, segment) => n + segment.values.length, 0);
    const factor = mode === 'paper' ? power(rollout.gamma * rollout.lambda[s]!, after) : 1;
    return own.map((a) => factor * a);
  });
  const targets = local.map((own, s) => own.map((a, i) => a + segments[s]!.values[i]!));
  return { advantages, local, targets };
}

function oneSegment(values: readonly number[], i: number, reward: number, gamma: number, lambda: number): number {
  let total = 0;
  for (let j = i; j < values.length; j++) {
    const end = j === values.length - 1;
    const delta = (end ? reward : 0) + gamma * (end ? 0 : values[j + 1]!) - values[j]!;
    total += power(gamma * lambda, j - i) * delta;
  }
  return total;
}

function stitched(rollout: OracleRollout, segment: number, index: number, lastSegment: number): number {
  const flat = rollout.segments.flatMap((values, s) => values.map((value) => ({ value, lambda: rollout.lambda[s]! })));
  const from = rollout.segments.slice(0, segment).reduce((n, values) => n + values.length, 0) + index;
  let total = 0;
  let weight = 1;
  for (let j = from; j < flat.length; j++) {
    const end = j === flat.length - 1;
    const reward = end && lastSegment >= 0 ? rollout.reward : 0;
    total += weight * (reward + rollout.gamma * (end ? 0 : flat[j + 1]!.value) - flat[j]!.value);
    weight *= rollout.gamma * flat[j]!.lambda;
  }
  return total;
}
