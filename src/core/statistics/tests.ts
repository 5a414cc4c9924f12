/** Tests of paired differences, and what several of them mean together; float64. */
import jStat from 'jstat';
import { LabError } from '../errors';
import { RandomStream } from '../rng';
import { checkFinite } from './intervals';

/** Most differences whose sign patterns are all counted: 2²⁰. */
const MOST_EXACT = 20;
/** Patterns drawn beyond that, the observed one included. */
const DRAWN = 100_000;

/** How `signFlipTest` comes to its p, in words. */
export const signFlipNote = `exact up to ${MOST_EXACT} pairs, beyond by ${DRAWN.toLocaleString('en')} random flips`;

export interface SignFlip {
  /** Two-sided. */
  readonly p: number;
  /** Standard error of `p`: 0 where every pattern was counted. */
  readonly standardError: number;
}

/**
 * Sign-flip (Fisher–Pitman) test of mean difference 0: the share of sign patterns ±d₁ … ±dₙ whose sum is at least as far from 0
 * as the observed one. Exact when differences are independent and symmetric about 0 under the hypothesis, as they are when
 * the two sides of a pair could be swapped. All 2ⁿ patterns up to n = 20; beyond, 100,000 drawn ones, p = (1 + k) / 100,000
 * with k of the others as far. Source: Fisher (1935), The Design of Experiments, §21; Phipson and Smyth (2010) for drawn patterns.
 * @param differences one a pair, n of them
 * @returns null of no differences
 * @throws `statistics.finite`
 */
export function signFlipTest(differences: readonly number[]): SignFlip | null {
  const n = differences.length;
  if (n === 0) return null;
  checkFinite(differences, 'sign-flip test');
  const size = differences.reduce((sum, d) => sum + Math.abs(d), 0);
  // Equal sums of decimal fractions differ in their last bits: without the allowance ties would be lost.
  const least = Math.abs(differences.reduce((sum, d) => sum + d, 0)) - 1e-9 * size;
  if (n <= MOST_EXACT) return { p: countPatterns(differences, least) / 2 ** n, standardError: 0 };
  const stream = new RandomStream(0, 'bootstrap', 1);
  let asFar = 1;
  for (let draw = 1; draw < DRAWN; draw++) {
    let sum = 0;
    for (let i = 0, bits = 0; i < n; i++, bits >>>= 1) {
      if (i % 32 === 0) bits = stream.bits();
      sum += bits & 1 ? differences[i]! : -differences[i]!;
    }
    if (Math.abs(sum) >= least) asFar++;
  }
  const p = asFar / DRAWN;
  return { p, standardError: Math.sqrt((p * (1 - p)) / DRAWN) };
}

/** Of all sign patterns, those whose sum is at least `least` from 0. */
function countPatterns(differences: readonly number[], least: number): number {
  const from = (at: number, sum: number): number =>
    at === differences.length
      ? Number(Math.abs(sum) >= least)
      : from(at + 1, sum + differences[at]!) + from(at + 1, sum - differences[at]!);
  // The first sign can be fixed: the opposite pattern is as far from 0.
  return 2 * from(1, differences[0]!);
}

/**
 * p values that bound the chance of any false rejection among all of them: the k-th smallest of m is multiplied by m − k + 1,
 * then made monotone and cut at 1. Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
 * @param ps null where there was nothing to test: not counted, and null again
 * @throws `statistics.probability`
 */
export function holm(ps: readonly (number | null)[]): (number | null)[] {
  const tested = ps.flatMap((p, at) => (p === null ? [] : [{ p, at }])).sort((a, b) => a.p - b.p);
  const adjusted = ps.map((): number | null => null);
  let reached = 0;
  for (const [k, { p, at }] of tested.entries()) {
    if (!(p >= 0 && p <= 1))
      throw new LabError({
        code: 'statistics.probability',
        what: 'This is no p value',
        expected: '0 to 1',
        got: String(p),
      });
    reached = Math.max(reached, Math.min(1, p * (tested.length - k)));
    adjusted[at] = reached;
  }
  return adjusted;
}

/**
 * Pearson correlation of pairs.
 * @param left one value a pair @param right as many
 * @returns null of fewer than two pairs, and where a side has no spread
 * @throws `statistics.pairs`, `statistics.finite`
 */
export function correlation(left: readonly number[], right: readonly number[]): number | null {
  if (left.length !== right.length)
    throw new LabError({
      code: 'statistics.pairs',
      what: 'The sides of pairs differ in number',
      expected: `${left.length}`,
      got: `${right.length}`,
    });
  checkFinite([...left, ...right], 'correlation');
  // Not by the standard deviation: that of equal decimal fractions is a rounding error, not 0.
  const constant = (side: readonly number[]) => side.every((value) => value === side[0]);
  if (constant(left) || constant(right)) return null;
  return jStat.corrcoeff(left, right);
}
