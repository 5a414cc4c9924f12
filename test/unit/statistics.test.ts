/**
 * Statistics against published and independently computed values. "Integrated": Student's density by Simpson's rule (20,000 steps)
 * and bisection in Python; "enumerated": all patterns with Python's Fraction. No code is shared.
 */
import { describe, expect, it } from 'vitest';
import type { LabError } from '../../src/core/errors';
import { clusterInterval, clusterMean, clusterMeans, hierarchicalBootstrap } from '../../src/core/statistics/clusters';
import {
  type Interval,
  predictionInterval,
  proportionInterval,
  sampleSd,
  tInterval,
} from '../../src/core/statistics/intervals';
import { correlation, holm, signFlipTest } from '../../src/core/statistics/tests';
import { reachSummary, timeToReach } from '../../src/core/statistics/thresholds';

/** Extra hours of sleep, drug 2 − drug 1 (Student 1908, p. 20). */
const sleep = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
/** Crossed − self-fertilised maize, eighths of an inch (Darwin 1876; Fisher 1935, §17). */
const maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];

/** Two seeds of each of five warm starts. */
const balanced = [
  [0.12, 0.16],
  [0.05, 0.09],
  [0.2, 0.14],
  [0.08, 0.02],
  [0.11, 0.19],
].flatMap((group, cluster) => group.map((value) => ({ cluster, value })));

function expectInterval(got: Interval | null, low: number, high: number) {
  expect(Math.abs(got!.low - low)).toBeLessThan(1e-6);
  expect(Math.abs(got!.high - high)).toBeLessThan(1e-6);
}
const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (thrown) {
    return (thrown as LabError).code;
  }
  return 'no error';
};

describe('intervals', () => {
  // Two values −1, 1: mean 0, s/√n = 1, so that the half width is the quantile itself. Others: n values, scaled to s/√n = 1.
  // df 1 and 2 in closed form, tan(π(p − ½)) and (2p − 1)√(2 / (1 − (2p − 1)²)); others integrated; agree with NIST/SEMATECH 1.3.6.7.2.
  it.each([
    [0.9, 1, Math.tan(0.45 * Math.PI)],
    [0.95, 1, Math.tan(0.475 * Math.PI)],
    [0.9, 2, 0.9 * Math.sqrt(2 / (1 - 0.9 ** 2))],
    [0.95, 2, 0.95 * Math.sqrt(2 / (1 - 0.95 ** 2))],
    [0.9, 4, 2.1318467863],
    [0.95, 3, 3.1824463053],
    [0.95, 4, 2.7764451052],
    [0.95, 9, 2.2621571628],
    [0.95, 14, 2.1447866879],
    [0.99, 4, 4.6040948714],
  ])('quantile of Student’s t at level %s with %s degrees of freedom', (level, df, t) => {
    const n = df + 1;
    const raw = Array.from({ length: n }, (_, i) => i - df / 2);
    const scale = Math.sqrt((n * df) / raw.reduce((sum, x) => sum + x * x, 0));
    const { low, high } = tInterval(
      raw.map((x) => x * scale),
      level,
    )!;
    // Relative: jStat's error is below 6e-8 over levels 0.5–0.999 and 1–200 degrees of freedom.
    expect(Math.abs(high / t - 1)).toBeLessThan(1e-7);
    expect(Math.abs(low / -t - 1)).toBeLessThan(1e-7);
  });

  it('Student’s sleep data: t interval as R’s t.test(paired) prints it, prediction interval', () => {
    expect(sampleSd(sleep)).toBeCloseTo(1.2299954832798732, 12);
    expectInterval(tInterval(sleep), 0.7001142367, 2.4598857633);
    expectInterval(predictionInterval(sleep), -1.3382509352, 4.4982509352);
  });

  it('Clopper–Pearson: closed forms at the ends, R’s binom.test in the middle, bisected binomial tails for a cell', () => {
    expectInterval(proportionInterval(0, 10), 0, 1 - 0.025 ** 0.1);
    expectInterval(proportionInterval(10, 10), 0.025 ** 0.1, 1);
    expectInterval(proportionInterval(5, 10), 0.187086028447, 0.812913971553);
    expectInterval(proportionInterval(717, 1024), 0.6710976618771, 0.7281370267562);
    expectInterval(proportionInterval(3, 1024), 0.0006045799737, 0.0085377092816);
    expect(proportionInterval(0, 0)).toBeNull();
  });

  it('nothing is said of too few values, and bad input is named', () => {
    expect([tInterval([]), tInterval([1]), predictionInterval([1]), sampleSd([1])]).toEqual([null, null, null, null]);
    expect(codeOf(() => tInterval([1, Number.NaN]))).toBe('statistics.finite');
    expect(codeOf(() => tInterval([1, 2], 1))).toBe('statistics.level');
    expect(codeOf(() => proportionInterval(3, 2))).toBe('statistics.counts');
  });
});

describe('tests', () => {
  it('sign flips of Darwin’s maize: Fisher’s 863 of 32,768 at each side', () => {
    expect(signFlipTest(maize)).toEqual({ p: 1726 / 32768, standardError: 0 });
    // Fisher's 1935 data with every difference in the other direction: two-sided.
    expect(signFlipTest(maize.map((d) => -d))?.p).toBe(1726 / 32768);
  });

  it('sign flips with a 0 and ties of decimal fractions, enumerated', () => {
    expect(signFlipTest(sleep)?.p).toBe(4 / 1024);
    expect(signFlipTest(balanced.map(({ value }) => value))?.p).toBe(2 / 1024);
    // ±0.1 ±0.2 ±0.3: 0.1 + 0.2 − 0.3 is not 0 in floating point; by hand 8 patterns, all as far from 0 as 0.
    expect(signFlipTest([0.1, 0.2, -0.3])?.p).toBe(1);
    // By hand: sums ±6, ±4, ±2, 0, 0; of [1, 2, 3] only ±6.
    expect(signFlipTest([1, 2, 3])?.p).toBe(2 / 8);
    expect(signFlipTest([])).toBeNull();
  });

  it('more than 20 pairs: drawn patterns, within five standard errors of the exact value', () => {
    // Six further differences of 0 leave the share of patterns as it is.
    const { p, standardError } = signFlipTest([...maize, 0, 0, 0, 0, 0, 0])!;
    expect(standardError).toBeGreaterThan(0.0006);
    expect(standardError).toBeLessThan(0.0008);
    expect(Math.abs(p - 1726 / 32768)).toBeLessThan(5 * standardError);
  });

  it('Holm: R’s p.adjust, order kept, untested ones left out', () => {
    const adjusted = holm([0.01, null, 0.04, 0.03, 0.005, 0.9]);
    const expected = [0.04, null, 0.09, 0.09, 0.025, 0.9];
    expect(adjusted.map((p) => (p === null ? null : Number(p.toFixed(12))))).toEqual(expected);
    expect(holm([0.7, 0.6])).toEqual([1, 1]);
    expect(codeOf(() => holm([Number.NaN]))).toBe('statistics.probability');
  });

  it('correlation: Anscombe’s first set (0.816), none without spread', () => {
    const x = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5];
    const y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    expect(correlation(x, y)).toBeCloseTo(0.8164205163448399, 12);
    expect(correlation([1, 1, 1], [1, 2, 3])).toBeNull();
    expect(correlation([1], [2])).toBeNull();
    expect(codeOf(() => correlation([1], []))).toBe('statistics.pairs');
  });
});

describe('clusters', () => {
  it('interval of balanced warm starts, from exact fractions and the integrated quantile', () => {
    expect(clusterMean(balanced)).toBeCloseTo(0.116, 12);
    expectInterval(clusterInterval(balanced), 0.05053238994, 0.18146761006);
    expectInterval(clusterInterval(balanced, 0.9), 0.06573179414, 0.16626820586);
  });

  it('unequal warm starts weigh the same; one alone has no interval', () => {
    const unequal = [
      { cluster: 2, value: 4 },
      { cluster: 1, value: 1 },
      { cluster: 1, value: 2 },
      { cluster: 1, value: 3 },
    ];
    expect(clusterMeans(unequal)).toEqual([2, 4]);
    expect(clusterMean(unequal)).toBe(3);
    expect(clusterInterval(unequal.slice(1))).toBeNull();
    expect(hierarchicalBootstrap(unequal.slice(1))).toBeNull();
  });

  it('hierarchical bootstrap: quantiles of its enumerated distribution, again and again', () => {
    const nested = [
      [0, 1],
      [4, 6],
      [9, 15],
    ].flatMap((group, cluster) => group.map((value) => ({ cluster, value })));
    // Enumerated: P(mean ≤ 1/3) = 0.0127, ≤ 1/2 0.0243, ≤ 35/3 0.9740, ≤ 12 0.9873; 20,000 draws have standard error 0.001.
    const options = { level: 0.96, resamples: 20_000 };
    const interval = hierarchicalBootstrap(nested, options);
    expectInterval(interval, 0.5, 12);
    expect(hierarchicalBootstrap(nested, options)).toEqual(interval);
    expect(codeOf(() => hierarchicalBootstrap(nested, { resamples: 10 }))).toBe('statistics.resamples');
  });
});

describe('thresholds', () => {
  it('the first mean of three at the threshold, or the budget', () => {
    const tokens = [100, 200, 300, 400, 500];
    expect(timeToReach([1, 0, 0.8, 0.9, 1], tokens, 0.9)).toEqual({ reached: true, at: 500 });
    expect(timeToReach([0.9, 0.9, 0.9, 0, 0], tokens, 0.9)).toEqual({ reached: true, at: 300 });
    expect(timeToReach([0, 0, 0, 1, 1], tokens, 0.9)).toEqual({ reached: false, at: 500 });
    expect(timeToReach([1, 1], [1, 2], 0.9)).toEqual({ reached: false, at: 2 });
    expect(timeToReach([], [], 0.9)).toBeNull();
    expect(codeOf(() => timeToReach([1], [], 0.9))).toBe('statistics.pairs');
  });

  it('Freireich (1963), weeks of remission: medians 23 with 6-MP (9 of 21 seen), 8 without', () => {
    const seen = (at: number) => ({ reached: true, at });
    const censored = (at: number) => ({ reached: false, at });
    const treated = [
      ...[6, 6, 6, 7, 10, 13, 16, 22, 23].map(seen),
      ...[6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35].map(censored),
    ];
    const placebo = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23].map(seen);
    expect(reachSummary(treated)).toEqual({ n: 21, reached: 9, median: 23, budget: 35 });
    expect(reachSummary(placebo)).toEqual({ n: 21, reached: 21, median: 8, budget: null });
  });

  it('the ordinary median without censoring; later than the budget when half or more never reach it', () => {
    const runs = (reached: readonly number[], never: number) => [
      ...reached.map((at) => ({ reached: true, at })),
      ...Array.from({ length: never }, () => ({ reached: false, at: 60 })),
    ];
    expect(reachSummary(runs([40, 10, 20, 30], 0)).median).toBe(25);
    expect(reachSummary(runs([10, 20, 30], 2)).median).toBe(30);
    expect(reachSummary(runs([10, 20], 2))).toEqual({ n: 4, reached: 2, median: null, budget: 60 });
    expect(reachSummary(runs([10], 9)).median).toBeNull();
    expect(reachSummary([])).toEqual({ n: 0, reached: 0, median: null, budget: null });
  });
});
