/** What `collect` prints of cells, and what a rerun is compared by; no device. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { cellsOf } from '../../src/core/experiment/cells';
import { armTable } from '../../src/core/experiment/verdicts';
import { compare } from '../../src/headless/experiment/compare';
import { tableText } from '../../src/headless/experiment/report';
import { sampleEvaluation, sampleExperiment, sampleResult } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

vi.mock('../../src/gpu/dawn', () => ({
  dawnGpu: () => Promise.reject(new Error('the device was asked for')),
}));
vi.setConfig({ testTimeout: 30_000 }); // the first test loads a command's modules, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'experiment-tables-'));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** @param line `@` stands for the test's folder */
const lab = (line: string) => labInProcess(line.replaceAll('@', folder).split(' '));

test('a rerun is compared by every number on the same machine, by the spread of the seeds elsewhere', () => {
  const { evaluation } = sampleResult;
  const at = (success: number) => ({
    ...sampleResult,
    evaluation: { ...evaluation, comp: { ...evaluation.comp, success } },
  });
  const seeds = [sampleResult, { ...sampleResult, seed: 2 }];
  const judge = (got: typeof sampleResult, all = seeds) => compare(sampleResult, got, all, 1);

  expect(judge({ ...sampleResult, createdAt: '', elapsedMs: 5, command: 'x' }).verdict).toBe('identical');
  expect(judge(at(0.76))).toEqual({
    ok: false,
    verdict: 'different',
    faults: ['evaluation.comp.success: recorded 0.75, got 0.76'],
  });
  expect(judge({ ...sampleResult, alarms: {} }).faults).toEqual(['alarms.kl-limit: recorded 1, got nothing']);
  expect(judge({ ...sampleResult, curve: null }).faults).toHaveLength(1);
  // Equal numbers are equal wherever they were computed.
  expect(judge({ ...sampleResult, build: 'other' }).verdict).toBe('identical');
  // Three equal seeds hold nothing but what they are; of the values at fault each is named.
  const three = [1, 2, 3].map((seed) => ({ ...sampleResult, seed }));
  const elsewhere = judge({ ...at(0.76), adapter: 'other' }, three);
  expect(elsewhere).toMatchObject({ ok: false, verdict: 'outside' });
  expect(elsewhere.faults).toEqual([
    'evaluation.comp.success: the new 0.76 is outside the prediction interval 0.750 to 0.750 of the recorded seeds',
  ]);
  expect(elsewhere.successes?.[1]).toMatchObject({ mode: 'comp', recorded: 0.75, got: 0.76, ofAll: { low: 0.75 } });
  // Fewer leave nothing to judge the recorded one by.
  for (const seeds of [three.slice(0, 2), three.slice(0, 1)])
    expect(judge({ ...at(0.75), alarms: {}, adapter: 'other' }, seeds)).toMatchObject({
      ok: null,
      verdict: 'undecided',
    });
});

/** A folder of cells. @param comp success by setup and arm, of seeds 1 … */
async function folderOf(name: string, comp: Readonly<Record<string, readonly number[]>>): Promise<void> {
  mkdirSync(at(name));
  writeFileSync(at(`${name}/experiment.json`), JSON.stringify(sampleExperiment));
  for (const cell of await cellsOf(sampleExperiment)) {
    const { setup, arm, seed, hash } = cell;
    const success = comp[`${setup.id} ${arm.id}`]?.[seed - 1];
    if (success === undefined) continue;
    const evaluation = sampleEvaluation(success);
    const result = { ...sampleResult, setup: setup.id, arm: arm.id, seed, hash, evaluation };
    writeFileSync(at(`${name}/${cell.name}.json`), JSON.stringify(result));
  }
}

// Differences of the claim: 0.3, 0.5, 0.4. Mean 0.4, s 0.1, t(0.975, 2) = 4.302653 (NIST/SEMATECH e-Handbook, table of t):
// 0.4 ± 0.248414. Two of 8 sign patterns are as far from 0: p = 0.25, the only test. Deviations of the sides: −0.1, 0, 0.1 and
// 0, −0.1, 0.1, so r = 0.01 / 0.02.
const decided = {
  'small full': [0.6, 0.7, 0.8],
  'small base-policy': [0.3, 0.2, 0.4],
  'large full': [0.5],
};

test('collect prints the table in the layout of the paper, then each claim with its numbers', async () => {
  await folderOf('decided', decided);
  const { stdout, stderr } = await lab('collect @/decided');
  const lines = stdout.split('\n');
  expect(lines[2]).toMatch(/\| Small +\| Large$/);
  expect(lines[3]).toMatch(/^arm +\| n +single +comp +long +\| n +single +comp +long$/);
  expect(lines[4]).toMatch(/^Full +\| 3 +50\.0 ±0\.0 +70\.0 ±24\.8 +62\.5 ±0\.0 +\| 1 +50\.0 +50\.0 +62\.5$/);
  expect(lines[5]).toMatch(/^Masked +\| 0 +– +– +– +\| 0 +– +– +–$/);
  const claim = lines.indexOf('Our question: Training helps.');
  expect(lines[claim - 2]).toMatch(/^setup +difference +95 % interval +n +p +Holm p +r +verdict$/);
  expect(lines[claim + 1]).toMatch(
    /^ {2}Small +\+40\.0 +points +\[\+15\.2, \+64\.8\] +3 +0\.250 +0\.250 +0\.50 {2}yes$/,
  );
  expect(lines[claim + 2]).toBe('  no seed has both sides yet: Large');
  expect(stderr).toBe('missing: 27 of 34 cells (small 11, large 16); lab experiment --list names them\n');
});

test('setups without cells are named; blocks that do not fit a line go below', async () => {
  await folderOf('small', { 'small full': [0.6] });
  const { stdout } = await lab('collect @/small');
  expect(stdout).toContain('\nNo cell yet: Large\n');
  expect(stdout).not.toContain('| Large');
  const wide = { ...sampleExperiment, setups: ['a', 'b'].map((id) => ({ id, title: id.repeat(70), config: {} })) };
  const table = tableText(
    { version: 1, experiment: wide, cells: wide.setups.map(({ id }) => ({ ...sampleResult, setup: id })) },
    [],
  ).split('\n');
  expect(table.filter((line) => line.startsWith('arm'))).toHaveLength(2);
  expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(120);
});

test('arms that no setup side by side has are left out there; one that some has is dotted in the others', () => {
  const arms = sampleExperiment.arms.map((arm) =>
    arm.id === 'masked' ? { ...arm, setups: ['a'] } : arm.id === 'few' ? { ...arm, setups: ['b'] } : arm,
  );
  const tiersOf = (titles: number) => {
    const setups = ['a', 'b'].map((id) => ({ id, title: id.repeat(titles), config: {} }));
    const cells = setups.map(({ id }) => ({ ...sampleResult, setup: id }));
    const results = { version: 1, experiment: { ...sampleExperiment, arms, setups }, cells } as const;
    const [, ...tiers] = tableText(results, armTable(results)).split('\n\n');
    return tiers.map((tier) => tier.trim().split('\n').slice(2));
  };
  const [above, below] = tiersOf(70).map((lines) => lines.map((line) => line.split('|')[0]!.trim()));
  expect(above).toEqual(['Full', 'Masked', 'Base', 'Swap', 'Writer']);
  expect(below).toEqual(['Full', 'Base', 'Swap', 'Writer', 'Few seeds']);
  const [both] = tiersOf(1);
  expect(both).toHaveLength(6);
  expect(both![1]).toMatch(/^Masked +\| +0 +– +– +– +\| +· +· +· +·$/);
});

test('collect --json and --claims say of each claim what the table says', async () => {
  const { stdout } = await lab('collect @/decided --json --claims @/claims.csv');
  const all = jsonLines(stdout);
  const comp = all.filter((line) => line.kind === 'arm' && line.outcome === 'comp' && line.setup === 'small');
  expect(comp.map(({ arm, n, missing }) => [arm, n, missing])).toEqual([
    ['full', 3, []],
    ['masked', 0, [1, 2, 3]],
    ['base-policy', 3, []],
    ['swap', 0, [1, 2, 3]],
    ['writer', 0, [1, 2, 3]],
    ['few', 0, [1, 2]],
  ]);
  const [small, large] = all.filter(({ kind }) => kind === 'claim');
  expect(small).toMatchObject({
    setup: 'small',
    n: 3,
    adjustedP: 0.25,
    finding: 'larger',
    verdict: 'yes',
    small: false,
  });
  expect(small.interval.low).toBeCloseTo(0.4 - 0.248414, 5);
  expect(large).toMatchObject({ setup: 'large', n: 0, unpaired: [1], verdict: 'undecided' });
  const rows = readFileSync(at('claims.csv'), 'utf8').trim().split('\n');
  expect(rows).toHaveLength(3);
  const [names, first] = rows.map((row) => row.split(','));
  const field = (name: string) => first![names!.indexOf(name)];
  expect(['claim', 'setup', 'n', 'adjustedP', 'kind', 'finding', 'verdict', 'small', 'text'].map(field)).toEqual([
    'trained',
    'small',
    '3',
    '0.25',
    'question',
    'larger',
    'yes',
    'false',
    'Training helps.',
  ]);
  expect(Number(field('high95'))).toBeCloseTo(0.4 + 0.248414, 5);
});

test('seeds that a setup does not ask for are not missing', () => {
  const setups = sampleExperiment.setups.map((setup) => ({ ...setup, seeds: setup.id === 'large' ? 1 : 3 }));
  const table = armTable({ version: 1, experiment: { ...sampleExperiment, setups }, cells: [] });
  const missing = (setup: string) => table.find((s) => s.setup === setup && s.arm === 'full')?.missing;
  expect([missing('small'), missing('large')]).toEqual([[1, 2, 3], [1]]);
});
