/** How far seeds spread: Student's t intervals of a mean, and of one more seed. */
import { createRequire } from 'node:module';

// A CommonJS package without types.
const { jStat } = createRequire(import.meta.url)('jstat') as {
  jStat: { studentt: { inv(probability: number, degreesOfFreedom: number): number } };
};

/** Mean, sample standard deviation and the 97.5 % quantile of t; null of fewer than two values. */
function spreadOf(values: readonly number[]): { mean: number; sd: number; t: number } | null {
  const n = values.length;
  if (n < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const sd = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  return { mean, sd, t: jStat.studentt.inv(0.975, n - 1) };
}

/** Half the width of the 95 % interval of the mean, t·s/√n; null of fewer than two values. */
export function halfWidth(values: readonly number[]): number | null {
  const spread = spreadOf(values);
  return spread && (spread.t * spread.sd) / Math.sqrt(values.length);
}

/** Where one more value falls with 95 % probability, x̄ ± t·s·√(1 + 1/n). @param values at least two */
export function predictionInterval(values: readonly number[]): { low: number; high: number } {
  const { mean, sd, t } = spreadOf(values) ?? { mean: Number.NaN, sd: Number.NaN, t: Number.NaN };
  const half = t * sd * Math.sqrt(1 + 1 / values.length);
  return { low: mean - half, high: mean + half };
}
