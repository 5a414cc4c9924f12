/** Verdicts and tables from made-up cells whose statistics are known: statistics.test.ts says where the numbers come from. */
import { describe, expect, it } from 'vitest';
import type { Arm, CellResult, Claim, Experiment } from '../../src/core/experiment/experiment';
import { type Finding, verdictText } from '../../src/core/experiment/verdict-words';
import { armTable, decideClaims, findingOf } from '../../src/core/experiment/verdicts';
import type { EvalSummary } from '../../src/core/metrics/records';

const arm = (id: string, more: Partial<Arm> = {}): Arm => ({ id, title: id, isolates: id, config: {}, ...more });
const claim = (id: string, more: Partial<Claim> = {}): Claim => ({
  id,
  text: id,
  left: { arm: 'full', outcome: 'comp' },
  right: { arm: 'base', outcome: 'comp' },
  ...more,
});
const experiment = (claims: readonly Claim[], more: Partial<Experiment> = {}): Experiment => ({
  version: 1,
  id: 'made-up',
  title: '',
  about: '',
  seeds: 10,
  warmStarts: 5,
  shared: {},
  setups: [{ id: 'one', title: '', config: {} }],
  arms: [arm('full'), arm('base')],
  claims,
  ...more,
});
const evaluation = (success: number, more: Partial<EvalSummary> = {}): EvalSummary => ({
  success,
  episodes: 1024,
  byCompactions: [],
  successNeedingCompaction: null,
  meanTurns: 5,
  meanCompactions: 2,
  meanSummaryTokens: 9,
  factRecall: null,
  ...more,
});
const cell = (name: string, seed: number, success: number, more: Partial<CellResult> = {}): CellResult => ({
  version: 1,
  setup: 'one',
  arm: name,
  seed,
  hash: '0000000000000000',
  config: {},
  command: '',
  adapter: '',
  build: '',
  createdAt: '',
  elapsedMs: 0,
  iterations: 0,
  envTokens: 0,
  evaluation: { comp: evaluation(success), single: evaluation(0.5), long: evaluation(0.5) },
  curve: null,
  alarms: {},
  ...more,
});

/** Differences of the balanced sample in statistics.test.ts: seeds 1–5 and 6–10 of warm starts 1–5. */
const first = [0.12, 0.05, 0.2, 0.08, 0.11];
const second = [0.16, 0.09, 0.14, 0.02, 0.19];
const differences = [...first, ...second];
const pairs = (by: readonly number[]) => by.flatMap((d, i) => [cell('full', i + 1, 0.4 + d), cell('base', i + 1, 0.4)]);
const only = (claims: readonly Claim[], cells: readonly CellResult[], more: Partial<Experiment> = {}) =>
  decideClaims({ version: 1, experiment: experiment(claims, more), cells });

describe('claims', () => {
  it('are decided by the interval over warm starts, with the exact test beside it', () => {
    const [result] = only([claim('up')], pairs(differences));
    expect(result).toMatchObject({
      setup: 'one',
      n: 10,
      unpaired: [],
      finding: 'larger',
      verdict: 'yes',
      small: false,
    });
    expect(result!.mean).toBeCloseTo(0.116, 9);
    expect(result!.interval!.low).toBeCloseTo(0.05053238994, 6);
    expect(result!.interval90!.high).toBeCloseTo(0.16626820586, 6);
    expect(result!.signFlip).toEqual({ p: 2 / 1024, standardError: 0 });
    // base does not vary
    expect(result!.correlation).toBeNull();
    expect(result!.values[1]).toMatchObject({ seed: 2, right: 0.4 });
    expect(result!.bootstrap!.low).toBeGreaterThan(0.05);
    expect(result!.bootstrap!.high).toBeLessThan(0.19);
  });

  it('the other way round are contradicted', () => {
    const down = claim('down', {
      left: { arm: 'base', outcome: 'comp' },
      right: { arm: 'full', outcome: 'comp' },
    });
    expect(only([down], pairs(differences))[0]).toMatchObject({ finding: 'smaller', verdict: 'no' });
  });

  it('equivalent, small and unresolved', () => {
    const around0 = [0.01, -0.01, 0.005, -0.005, 0, 0.01, -0.01, 0.005, -0.005, 0];
    expect(only([claim('a')], pairs(around0))[0]).toMatchObject({ finding: 'equivalent', verdict: 'no', small: true });
    const sure = around0.map((d) => 0.01 + d / 10);
    expect(only([claim('a')], pairs(sure))[0]).toMatchObject({ finding: 'larger', small: true });
    const wide = around0.map((d) => d * 20);
    expect(only([claim('a')], pairs(wide))[0]).toMatchObject({
      finding: 'unresolved',
      verdict: 'undecided',
      small: false,
    });
    expect([findingOf({ low: 0, high: 1 }, false, 5), findingOf({ low: -1, high: 0 }, false, 5)]).toEqual([
      'unresolved',
      'unresolved',
    ]);
  });

  it('only pairs count, and a margin of success says nothing of tokens', () => {
    const cells = [...pairs(differences), cell('full', 11, 0.9), cell('base', 13, 0.1)];
    expect(only([claim('a')], cells)[0]).toMatchObject({ n: 10, unpaired: [11, 13] });
    const tokens = claim('tokens', {
      left: { arm: 'full', outcome: 'summaryTokens' },
      right: { arm: 'base', outcome: 'summaryTokens' },
    });
    expect(only([tokens], pairs(differences))[0]).toMatchObject({ mean: 0, finding: 'unresolved', small: false });
  });

  it('compare two outcomes of one arm', () => {
    const gap = claim('gap', { left: { arm: 'full', outcome: 'comp' }, right: { arm: 'full', outcome: 'single' } });
    const [result] = only([gap], pairs(differences));
    expect(result!.mean).toBeCloseTo(0.016, 9);
    expect(result!.n).toBe(10);
  });

  it('are open below three pairs, whatever the interval', () => {
    const sure = { low: 0.3, high: 0.4 };
    expect([findingOf(sure, false, 2), findingOf(sure, false, 3)]).toEqual(['unresolved', 'larger']);
    expect(findingOf({ low: -0.01, high: 0.01 }, true, 2)).toBe('unresolved');
  });

  it('in another setup are no part of the family of tests', () => {
    const setups = ['one', 'two'].map((id) => ({ id, title: '', config: {} }));
    const both = [...pairs(differences), ...pairs(differences).map((result) => ({ ...result, setup: 'two' }))];
    const decided = only([claim('a'), claim('b', { setups: ['one'] })], both, { setups });
    expect(decided.map(({ setup, adjustedP }) => [setup, adjustedP])).toEqual([
      ['one', 4 / 1024],
      ['two', 2 / 1024],
      ['one', 4 / 1024],
    ]);
  });

  it('without cells are unresolved, and Holm counts only those of their setup that have pairs', () => {
    const setups = ['one', 'two'].map((id) => ({ id, title: '', config: {} }));
    const [one, two, again] = only([claim('a'), claim('b', { setups: ['one'] })], pairs(differences), { setups });
    expect(one).toMatchObject({ setup: 'one', adjustedP: 4 / 1024 });
    expect(two).toMatchObject({ setup: 'two', n: 0, mean: null, interval: null, signFlip: null, adjustedP: null });
    expect(two!.finding).toBe('unresolved');
    expect(again).toMatchObject({ claim: { id: 'b' }, setup: 'one', adjustedP: 4 / 1024 });
  });

  it('are left out where an arm does not run', () => {
    const arms = [arm('full'), arm('base', { setups: ['two'] })];
    expect(only([claim('a')], pairs(differences), { arms })).toEqual([]);
  });

  it('with one warm start take seeds as they are: Student’s sleep data', () => {
    const sleep = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
    const [result] = only([claim('a')], pairs(sleep), { warmStarts: 1 });
    expect(result!.interval!.low).toBeCloseTo(0.7001142367, 6);
    const few = only([claim('a')], pairs(sleep.slice(0, 1)), { warmStarts: 1 })[0];
    expect(few).toMatchObject({ n: 1, interval: null, verdict: 'undecided', adjustedP: 1 });
  });
});

describe('the words', () => {
  const words = (more: Partial<Claim>) =>
    (['larger', 'smaller', 'equivalent', 'unresolved'] as Finding[]).map((finding) =>
      verdictText({ claim: claim('a', more), finding, small: finding === 'equivalent' }),
    );
  const ofPaper = ['reproduced', 'not reproduced (the opposite)', 'not reproduced (no difference)', 'undecided'];
  const ofOurs = ['yes', 'no (the opposite)', 'no (no difference)', 'undecided'];

  it('tell a claim of the paper from a question of ours, also in files that do not say which', () => {
    expect(words({ kind: 'paper', paper: '1 against 2' })).toEqual(ofPaper);
    expect(words({ paper: '1 against 2' })).toEqual(ofPaper);
    expect(words({ kind: 'question', paper: '1 against 2' })).toEqual(ofOurs);
    expect(words({})).toEqual(ofOurs);
  });

  it('say that a sure difference is small', () => {
    const small = (finding: Finding) => verdictText({ claim: claim('a'), finding, small: true });
    expect([small('larger'), small('smaller')]).toEqual(['yes (small)', 'no (the opposite, small)']);
  });
});

describe('table', () => {
  it('has every arm and outcome, with what is missing', () => {
    const recall = { comp: evaluation(0.7, { factRecall: 0.25 }), single: evaluation(0.1), long: evaluation(0.2) };
    const cells = [cell('full', 2, 0, { evaluation: recall }), cell('full', 1, 0.5)];
    const arms = [arm('full', { seeds: 3 }), arm('base')];
    const table = armTable({ version: 1, experiment: experiment([], { arms }), cells });
    expect(table).toHaveLength(14);
    const of = (name: string, outcome: string) => table.find((row) => row.arm === name && row.outcome === outcome)!;
    expect(of('full', 'comp')).toMatchObject({ n: 2, missing: [3], mean: 0.6 });
    expect(of('full', 'comp').values).toEqual([
      { seed: 1, value: 0.5 },
      { seed: 2, value: 0.7 },
    ]);
    expect(of('full', 'comp').sd).toBeCloseTo(Math.sqrt(0.02), 12);
    expect(of('full', 'factRecall')).toMatchObject({ n: 1, missing: [1, 3], mean: 0.25, sd: null, interval: null });
    expect(of('full', 'turns').mean).toBe(5);
    expect(of('base', 'long')).toMatchObject({ n: 0, mean: null, missing: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
  });
});
