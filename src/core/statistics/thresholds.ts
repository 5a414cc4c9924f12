/** When runs reach a threshold. A run that ends before is censored: it is counted as "later than its budget", never dropped. */
import { LabError } from '../errors';

/** Of one run: where it got to the threshold, or how far it was trained without. */
export interface ReachTime {
  readonly reached: boolean;
  /** Where the threshold was reached, else the budget; iterations or env tokens. */
  readonly at: number;
}

/**
 * The first place where the mean of the last `window` values is at least `threshold`.
 * @param values one an iteration, e.g. training success
 * @param budgetAt iterations or env tokens at the end of each iteration, as many, ascending
 * @returns null of a run without iterations
 * @throws `statistics.pairs`
 */
export function timeToReach(
  values: readonly number[],
  budgetAt: readonly number[],
  threshold: number,
  window = 3,
): ReachTime | null {
  if (values.length !== budgetAt.length)
    throw new LabError({
      code: 'statistics.pairs',
      what: 'Values and their places differ in number',
      expected: `${values.length}`,
      got: `${budgetAt.length}`,
    });
  const end = budgetAt.at(-1);
  if (end === undefined) return null;
  for (let i = window - 1; i < values.length; i++) {
    let sum = 0;
    for (let j = i - window + 1; j <= i; j++) sum += values[j]!;
    // Shares are rounded to a few digits: their mean may miss the threshold by its last bit.
    if (sum / window >= threshold - 1e-12) return { reached: true, at: budgetAt[i]! };
  }
  return { reached: false, at: end };
}

/** Runs together. */
export interface ReachSummary {
  readonly n: number;
  readonly reached: number;
  /** Kaplan–Meier median; null: later than `budget`, or nothing known. */
  readonly median: number | null;
  /** The longest budget of a run that did not reach it; null when all did. */
  readonly budget: number | null;
}

/**
 * How many runs reached the threshold, and the median of when. Kaplan–Meier: the estimate S(t) of the share still below falls by
 * the factor 1 − d/r where d of r runs that are still watched reach it; the median is where S falls under ½, or the middle of
 * the stretch where S is exactly ½ (the ordinary median when no run is censored); null when S never falls under ½. Source:
 * Kaplan and Meier (1958), "Nonparametric estimation from incomplete observations".
 */
export function reachSummary(times: readonly ReachTime[]): ReachSummary {
  const censored = times.filter(({ reached }) => !reached).map(({ at }) => at);
  return {
    n: times.length,
    reached: times.length - censored.length,
    median: kaplanMeierMedian(times),
    budget: censored.length === 0 ? null : Math.max(...censored),
  };
}

function kaplanMeierMedian(times: readonly ReachTime[]): number | null {
  const events = [...new Set(times.filter(({ reached }) => reached).map(({ at }) => at))].sort((a, b) => a - b);
  let below = 1;
  let half: number | null = null;
  for (const at of events) {
    // Who is censored here was still watched here.
    const watched = times.filter((time) => time.at >= at).length;
    const now = times.filter((time) => time.reached && time.at === at).length;
    below *= 1 - now / watched;
    if (below < 0.5 - 1e-9) return half === null ? at : (half + at) / 2;
    if (half === null && below < 0.5 + 1e-9) half = at;
  }
  return null;
}
