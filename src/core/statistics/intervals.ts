/** Intervals of a mean, of one more value and of a share; float64. Values are in the unit of the outcome throughout. */
import jStat from 'jstat';
import { LabError } from '../errors';

/** Closed: both ends belong to it. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** @throws `statistics.level` */
function checkLevel(level: number): void {
  if (level > 0 && level < 1) return;
  throw new LabError({
    code: 'statistics.level',
    what: 'No such confidence level',
    expected: 'between 0 and 1, both excluded',
    got: String(level),
  });
}

/** @throws `statistics.finite` */
export function checkFinite(values: readonly number[], where: string): void {
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at < 0) return;
  throw new LabError({
    code: 'statistics.finite',
    what: 'A value is no finite number',
    where: `${where}, value ${at}`,
    expected: 'finite numbers',
    got: String(values[at]),
  });
}

/** Sample standard deviation, √(Σ(xᵢ − x̄)² / (n − 1)); null of fewer than two values. */
export function sampleSd(values: readonly number[]): number | null {
  return values.length < 2 ? null : jStat.stdev(values, true);
}

/** The quantile of Student's t that leaves (1 − level) / 2 above it. */
function tOf(level: number, degreesOfFreedom: number): number {
  checkLevel(level);
  return jStat.studentt.inv((1 + level) / 2, degreesOfFreedom);
}

/**
 * Interval of the mean, x̄ ± t·s/√n with n − 1 degrees of freedom; exact for independent normal values. Source: Student (1908),
 * "The probable error of a mean".
 * @param level confidence, e.g. 0.95
 * @returns null of fewer than two values
 * @throws `statistics.level`, `statistics.finite`
 */
export function tInterval(values: readonly number[], level = 0.95): Interval | null {
  return around(values, level, (n) => Math.sqrt(1 / n));
}

/**
 * Where one more value falls with probability `level`, x̄ ± t·s·√(1 + 1/n) with n − 1 degrees of freedom. Source: Whitmore
 * (1986), "Prediction limits for a univariate normal observation".
 * @returns null of fewer than two values
 * @throws `statistics.level`, `statistics.finite`
 */
export function predictionInterval(values: readonly number[], level = 0.95): Interval | null {
  return around(values, level, (n) => Math.sqrt(1 + 1 / n));
}

function around(values: readonly number[], level: number, factor: (n: number) => number): Interval | null {
  checkFinite(values, 'interval');
  const sd = sampleSd(values);
  if (sd === null) return null;
  const centre = jStat.mean(values);
  const half = tOf(level, values.length - 1) * sd * factor(values.length);
  return { low: centre - half, high: centre + half };
}

/**
 * Interval of a probability from counts: at least `level`, whatever it is. It holds the sampling of episodes alone, not
 * seeds. Source: Clopper and Pearson (1934), by quantiles of the beta distribution.
 * @param solved 0 … episodes
 * @returns null of no episodes
 * @throws `statistics.level`, `statistics.counts`
 */
export function proportionInterval(solved: number, episodes: number, level = 0.95): Interval | null {
  checkLevel(level);
  if (!(Number.isInteger(solved) && Number.isInteger(episodes) && solved >= 0 && solved <= episodes))
    throw new LabError({
      code: 'statistics.counts',
      what: 'These are no counts of successes and trials',
      expected: 'whole numbers, 0 ≤ successes ≤ trials',
      got: `${solved} of ${episodes}`,
    });
  if (episodes === 0) return null;
  const tail = (1 - level) / 2;
  return {
    low: solved === 0 ? 0 : jStat.beta.inv(tail, solved, episodes - solved + 1),
    high: solved === episodes ? 1 : jStat.beta.inv(1 - tail, solved + 1, episodes - solved),
  };
}
