/** Results of experiments: what is refused, what is rounded, what comes out as it went in. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseCellResult, parseResults, rounded } from '../../src/core/experiment/result';
import { evalSummary } from '../../src/core/metrics/metrics';
import type { Rollout } from '../../src/core/trajectory/trajectory';
import { sampleExperiment, sampleResult } from './experiment-samples';

describe('results', () => {
  test('a cell comes out as it went in', () => {
    expect(parseCellResult(JSON.parse(JSON.stringify(sampleResult)), 'x')).toEqual(sampleResult);
  });

  const { evaluation } = sampleResult;
  const comp = (changes: object) => ({ evaluation: { ...evaluation, comp: { ...evaluation.comp, ...changes } } });
  const every = (changes: object) => ({
    evaluation: Object.fromEntries(
      Object.entries(evaluation).map(([mode, summary]) => [mode, { ...summary, ...changes }]),
    ),
  });

  test('what evaluations give is consistent once it is rounded, also with several attempts and without long tasks', () => {
    const rollout = (task: number, attempt: number | undefined, solved: boolean) =>
      ({
        task,
        attempt,
        solved,
        compactionsRequired: task,
        steps: [],
        segments: [],
        compactions: [],
      }) as unknown as Rollout;
    for (const tasks of [3, 7])
      for (const attempt of [undefined, 1])
        for (const long of [0, 1]) {
          const rollouts = Array.from({ length: tasks }, (_, task) => rollout(long * task, attempt, task % 3 === 0));
          const retried = attempt === undefined ? [] : [rollout(tasks - 1, 2, true)];
          const summary = evalSummary([...rollouts, ...retried]);
          const cell = { ...sampleResult, evaluation: { comp: summary, single: summary, long: summary } };
          expect(parseCellResult(rounded(cell), 'x')).toEqual(rounded(cell));
          // Results that were never rounded are as good.
          expect(parseCellResult(cell, 'x')).toEqual(cell);
        }
  });

  test('the shipped results are consistent', () => {
    for (const name of ['paper-table', 'beyond-the-table']) {
      const { cells } = parseResults(JSON.parse(readFileSync(`public/results/${name}.json`, 'utf8')), name);
      expect(cells.length).toBeGreaterThan(200);
    }
  });

  test.each<[string, object, RegExp]>([
    [
      'a rate above one',
      { evaluation: { ...evaluation, comp: { ...evaluation.comp, success: 1.5 } } },
      /evaluation\.comp\.success/,
    ],
    ['a missing mode', { evaluation: { comp: evaluation.comp, single: evaluation.single } }, /evaluation\.long/],
    [
      'episodes that do not add up',
      { evaluation: { ...evaluation, long: { ...evaluation.long, episodes: 9 } } },
      /evaluation\.long.*9/,
    ],
    ['success that is not solved over episodes', comp({ success: 0.875 }), /comp\.success: expected 0\.75.*got 0\.875/],
    [
      'success of long tasks that is not solved over episodes',
      comp({ successNeedingCompaction: 0.75 }),
      /comp\.successNeedingCompaction: expected 0\.5.*got 0\.75/,
    ],
    [
      'success of long tasks that there are not',
      every({ byCompactions: [{ solved: 6, episodes: 8 }], success: 0.75 }),
      /comp\.successNeedingCompaction: expected null.*got 0\.5/,
    ],
    [
      'more solved than played',
      comp({ byCompactions: [comp({}).evaluation.comp.byCompactions[0], { solved: 5, episodes: 4 }] }),
      /comp\.byCompactions\.1\.solved.*at most its 4/,
    ],
    [
      'evaluations of different tasks',
      {
        evaluation: {
          ...evaluation,
          long: {
            ...evaluation.long,
            byCompactions: [
              { solved: 5, episodes: 6 },
              { solved: 0, episodes: 2 },
            ],
            successNeedingCompaction: 0,
          },
        },
      },
      /not of the same tasks.*evaluation\.long.*\[4,4\].*\[6,2\]/,
    ],
    ['a first attempt in one mode alone', comp({ firstAttempt: 0.5 }), /evaluation\.single\.firstAttempt.*got nothing/],
    ['a first attempt that solves more than all', every({ firstAttempt: 0.875 }), /comp\.firstAttempt.*got 0\.875/],
    ['a first attempt of half an episode', every({ firstAttempt: 0.3 }), /comp\.firstAttempt.*whole episodes of 8/],
    [
      'facts kept without a compaction',
      comp({ meanCompactions: 0, factRecall: 1 }),
      /comp\.factRecall.*nothing was compacted/,
    ],
    ['a negative mean', comp({ meanTurns: -1 }), /comp\.meanTurns/],
    ['an unknown key', { sede: 1 }, /x\.json, sede: expected no other keys than version, setup, arm, seed/],
    [
      'an unknown key of an evaluation',
      comp({ succes: 1 }),
      /evaluation\.comp\.succes: expected no other keys than success, episodes/,
    ],
    ['a missing text', { hash: undefined }, /x\.json, hash: expected a text, got undefined\. Write them again/],
    ['a short curve', { iterations: 3 }, /curve.*3 iterations/],
    ['training without a curve', { curve: null }, /curve.*2 iterations/],
    ['a curve of another training', { envTokens: 2001 }, /curve\.envTokens: expected 2001.*got 2000/],
    ['a hash that is none', { hash: 'xyz' }, /hash/],
    ['a number that is none', { elapsedMs: Number.NaN }, /elapsedMs/],
    ['settings that do not exist', { config: { windw: 1 } }, /config.*windw/],
  ])('%s is refused and named', (_what, changes, message) => {
    expect(() => parseCellResult({ ...sampleResult, ...changes }, 'x.json')).toThrow(message);
  });

  test('a bundle has each cell once', () => {
    const bundle = { version: 1, experiment: sampleExperiment, cells: [sampleResult] };
    expect(parseResults(JSON.parse(JSON.stringify(bundle)), 'x')).toEqual(bundle);
    expect(() => parseResults({ ...bundle, cells: [sampleResult, sampleResult] }, 'x')).toThrow(/small full 1/);
  });

  test('outcomes are rounded to six digits, curves to four, settings not', () => {
    const curve = sampleResult.curve!;
    const cell = {
      ...sampleResult,
      config: { lambda: 0.123456789 },
      evaluation: { ...evaluation, comp: { ...evaluation.comp, meanTurns: 1.23456789 } },
      curve: { ...curve, turns: [1.23456789, 1234567] },
    };
    const { config, evaluation: outcomes, curve: kept } = rounded(cell);
    expect(config.lambda).toBe(0.123456789);
    expect(outcomes.comp.meanTurns).toBe(1.23457);
    expect(kept?.turns).toEqual([1.235, 1234567]);
  });
});
