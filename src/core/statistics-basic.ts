/** Means and spreads of flat arrays, in float64. An empty array has mean, deviation and RMS 0. */
import type { Numbers } from './training-types';

export function sum(values: Numbers): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

export function mean(values: Numbers): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

/** Population variance, by two passes. */
export function variance(values: Numbers): number {
  if (values.length === 0) return 0;
  const centre = mean(values);
  let total = 0;
  for (let i = 0; i < values.length; i++) total += (values[i]! - centre) ** 2;
  return total / values.length;
}

/** Population standard deviation; exactly 0 when all values are equal, whatever the rounding of their mean. */
export function deviation(values: Numbers): number {
  const first = values[0];
  for (let i = 1; i < values.length; i++) if (values[i] !== first) return Math.sqrt(variance(values));
  return 0;
}

/** Largest absolute value; 0 for none, NaN when one is NaN. */
export function maxAbs(values: Numbers): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}

/**
 * 1 − Var(R̂ − V)/Var(R̂), ALGORITHM section 6.
 * @returns null where the targets do not vary: nothing is there to explain
 */
export function explainedVariance(targets: Numbers, values: Numbers): number | null {
  const total = variance(targets);
  if (deviation(targets) === 0) return null;
  const residuals = Float64Array.from({ length: targets.length }, (_, i) => targets[i]! - values[i]!);
  return 1 - variance(residuals) / total;
}
