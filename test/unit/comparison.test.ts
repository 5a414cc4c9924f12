/** What the comparison says of its numbers: means, seeds and warm starts of each setup. */
import { expect, test } from 'vitest';
import { Comparison } from '../../src/ui/comparison/comparison';
import { bandOf, quantities, seedLines } from '../../src/ui/comparison/curves';
import { sampleExperiment, sampleResult } from './experiment-samples';

const [small, large] = sampleExperiment.setups;
const experiment = { ...sampleExperiment, seeds: 10, warmStarts: 5, setups: [small!, { ...large!, seeds: 3 }] };
const comparison = new Comparison({ version: 1, experiment, cells: [] });

test('seeds and warm starts are said for each setup where they differ', () => {
  expect(comparison.seedsNote).toBe('10 seeds in “Small”; 3 seeds in “Large”');
  expect(comparison.intervalNote()).toBe('Student’s t on the means of warm starts, 5 in “Small”; 3 in “Large”');
  expect(comparison.intervalNote(['large'])).toBe('Student’s t on the means of warm starts, 3');
});

test('no seed is offered whose base does not exist', () => {
  expect([1, 3, 4, 5, 6, 8, 9].filter((seed) => comparison.hasBase(comparison.setups[1]!, seed))).toEqual([1, 3, 6, 8]);
  expect(comparison.setups.map((setup) => comparison.newSeed(setup))).toEqual([11, 6]);
});

test('a curve’s mean is that of the band: warm starts weigh the same', () => {
  // Seeds 1 and 6 share a warm start: (0.2 + 0.4) / 2 = 0.3; with seed 2 at 0.9 the mean is 0.6, that over seeds 0.5.
  const cells = [
    [1, 0.2],
    [6, 0.4],
    [2, 0.9],
  ].map(([seed, y]) => ({
    ...sampleResult,
    seed: seed!,
    curve: { ...sampleResult.curve!, trainSuccess: [y!, y!] },
  }));
  const band = bandOf(seedLines(cells, quantities[0]!), quantities[0]!, comparison);
  for (const { mean, low, high } of band) {
    expect(mean).toBeCloseTo(0.6, 12);
    expect((low! + high!) / 2).toBeCloseTo(0.6, 12);
  }
  expect(band.length).toBeGreaterThan(0);
});
