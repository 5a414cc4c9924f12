/** What experiment files and results that have another shape are told: in words, with what mends it. */
import { expect, test } from 'vitest';
import { parseResults } from '../../src/core/experiment/result';
import { parseExperiment } from '../../src/core/experiment/schema';
import { parsePartialPlan } from '../../src/core/kernels';
import { sampleExperiment } from './experiment-samples';

const { about: _, ...withoutAbout } = sampleExperiment;

test.each<readonly [what: string, input: unknown, message: RegExp]>([
  [
    'null',
    null,
    /^Bad experiment at x: expected an object, got null\. The format is described in docs\/experiments\.md/,
  ],
  ['an array', [], /^Bad experiment at x: expected an object, got an array/],
  ['a missing key', withoutAbout, /at x, about: expected the key, got nothing\. The format/],
  ['a text for a number', { ...sampleExperiment, seeds: '3' }, /at x, seeds: expected a number, got "3"/],
  ['a negative count', { ...sampleExperiment, seeds: -1 }, /at x, seeds: expected at least 1, got -1/],
  ['a huge number', { ...sampleExperiment, seeds: 1e30 }, /at x, seeds: expected at most 1000, got 1e\+30/],
  ['half a seed', { ...sampleExperiment, seeds: 1.5 }, /at x, seeds: expected a whole number, got 1\.5/],
  ['an object for a list', { ...sampleExperiment, arms: {} }, /at x, arms: expected an array, got an object/],
  ['no arms', { ...sampleExperiment, arms: [] }, /at x, arms: expected a length of at least 1, got 0/],
  ['another version', { ...sampleExperiment, version: 99 }, /at x, version: expected 1, got 99/],
])('an experiment: %s', (_what, input, message) => {
  expect(() => parseExperiment(input, 'x')).toThrowError(message);
});

test('results and kernels that are an array are refused, not read as an object without keys', () => {
  expect(() => parseResults([], 'x')).toThrowError(/at x: expected an object, got an array\. Write them again/);
  expect(() => parsePartialPlan([], 'x')).toThrowError(/Bad choice of kernels at x: expected an object, got an array/);
});
