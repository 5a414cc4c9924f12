/** `lab verify` of results from another machine, with a machine that answers at once: what a sample may differ by. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { type Cell, cellsOf } from '../../src/core/experiment/cells';
import type { CellResult } from '../../src/core/experiment/experiment';
import { sampleEvaluation, sampleExperiment, sampleResult } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

const here = vi.hoisted(() => ({
  run: undefined as unknown as (cell: Cell) => CellResult,
  shells: [] as unknown[],
}));
vi.mock('../../src/headless/experiment/machine', () => ({
  openCellMachine: async () => ({
    runner: ({ shell }: { shell?: number }) => {
      here.shells.push(shell);
      return { run: async (cell: Cell) => here.run(cell), dispose: () => {} };
    },
    close: async () => {},
  }),
}));
vi.setConfig({ testTimeout: 30_000 }); // the first test loads a command's modules, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'verify-command-'));
const file = join(folder, 'results.json');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const resultOf = ({ setup, arm, seed, hash }: Cell, comp: number): CellResult => ({
  ...sampleResult,
  setup: setup.id,
  arm: arm.id,
  seed,
  hash,
  evaluation: sampleEvaluation(comp),
});

/** Results of two arms, written down. @param comp success of seeds 1 … */
async function record(comp: readonly number[], shell?: 2): Promise<void> {
  const experiment = { ...sampleExperiment, seeds: Math.max(3, comp.length) };
  const seeds = [1, comp.length] as const;
  const cells = await cellsOf(experiment, { seeds, setups: ['small'], arms: ['full', 'masked'] });
  const results = cells.map((cell) => ({ ...resultOf(cell, comp[cell.seed - 1]!), ...(shell && { shell }) }));
  writeFileSync(file, JSON.stringify({ version: 1, experiment, cells: results }));
}

/** Runs the sample on another machine, where every cell comes to one success. */
async function verify(success: number, options: string) {
  here.run = (cell) => ({ ...resultOf(cell, success), adapter: 'another' });
  const { code, stdout, stderr } = await labInProcess(['verify', file, ...options.split(' ')]);
  const lines = jsonLines(stdout);
  return { code, stderr, checks: lines.slice(0, -1), last: lines.at(-1) };
}

/** Mean 0.51, s 0.0079057. */
const recorded = [0.5, 0.505, 0.51, 0.515, 0.52];

// t of 4 and 3 degrees of freedom by bisection of its closed distribution functions, at 1 − 0.05 / (6 · cells): 4.8510 and 6.2315
// for one cell, 5.8853 and 7.9398 for two. New values: 0.51 ± t · s · √(6/5) = ± 0.0420 and ± 0.0510.
test.each([
  ['--arms 1', 0.551, 'inside'],
  ['--arms 1', 0.469, 'inside'],
  ['--arms 1', 0.553, 'outside'],
  ['--arms 1', 0.467, 'outside'],
  ['--arms 2', 0.553, 'inside'],
  ['--arms 1 --seeds 2', 0.553, 'inside'],
  ['--arms 2', 0.562, 'outside'],
])('%s, new success %d: %s', async (options, success, verdict) => {
  await record(recorded);
  const { code, stderr, checks, last } = await verify(success, options);
  const cells = options === '--arms 1' ? 1 : 2;
  const failed = verdict === 'inside' ? 0 : cells;
  expect(checks.map((line) => line.verdict)).toEqual(Array(cells).fill(verdict));
  expect(last).toMatchObject({ done: true, cells, failed, undecided: 0 });
  expect(code).toBe(failed > 0 ? 1 : 0);
  expect(stderr.match(/evaluation\.comp\.success: the new \S+ is outside/g)?.length ?? 0).toBe(failed);
});

test.each([
  ['nothing', undefined, 1],
  ['version 2', 2 as const, 2],
])('cells that record %s run with that version of the terminal', async (_, shell, used) => {
  await record(recorded, shell);
  here.shells = [];
  await verify(0.51, '--arms 1');
  expect(here.shells).toEqual([used]);
});

test('inside says which numbers were judged, and by which intervals', async () => {
  await record(recorded);
  const { stderr, checks } = await verify(0.54, '--arms 1');
  const seed = Number(/--seed-(\d)--/.exec(checks[0].cell)?.[1]);
  const [, comp] = checks[0].successes;
  expect(comp).toMatchObject({ mode: 'comp', recorded: recorded[seed - 1], got: 0.54 });
  expect(comp.ofAll.low).toBeCloseTo(0.51 - 0.042011, 6);
  // The recorded value is left out: four others, t · s′ · √(5/4).
  const others = recorded.filter((_, i) => i !== seed - 1);
  const mean = others.reduce((sum, x) => sum + x, 0) / 4;
  const sd = Math.sqrt(others.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 3);
  expect(comp.ofOthers.high).toBeCloseTo(mean + 6.2315435 * sd * Math.sqrt(5 / 4), 6);
  const interval = '\\(other seeds: 0\\.\\d{3} to 0\\.\\d{3}\\)';
  expect(stderr).toMatch(
    new RegExp(`comp: recorded ${recorded[seed - 1]} ${interval}, got 0\\.54 \\(all seeds: 0\\.468 to 0\\.552\\)`),
  );
  expect(stderr.match(/: (single|comp|long): recorded/g)).toHaveLength(3);
});

test('a falsified record is noticed, also where it widens the spread so that every rerun would fit', async () => {
  await record(recorded);
  const seed = Number(/--seed-(\d)--/.exec((await verify(0.51, '--arms 1')).checks[0].cell)?.[1]);
  for (const falsified of [0.6, 0.9, 0.1]) {
    await record(recorded.map((value, i) => (i === seed - 1 ? falsified : value)));
    const { code, stderr, checks, last } = await verify(0.51, '--arms 1');
    expect(checks[0]).toMatchObject({ ok: false, verdict: 'outside' });
    expect(checks[0].faults).toHaveLength(1);
    expect(stderr).toContain(`evaluation.comp.success: the recorded ${falsified} is outside the prediction interval`);
    expect([code, last.failed]).toEqual([1, 1]);
  }
});

test('where the interval is wider than ±25 points the sample is undecided, which is counted and is no failure', async () => {
  await record([0.2, 0.4, 0.5, 0.6, 0.8]);
  const wide = await verify(0.55, '--arms 2');
  expect(wide.checks.map(({ ok, verdict }) => [ok, verdict])).toEqual(Array(2).fill([null, 'undecided']));
  expect(wide.last).toMatchObject({ failed: 0, undecided: 2 });
  expect(wide.stderr).toContain('undecided: 2');
  expect(wide.code).toBe(0);
  // One seed alone, as well.
  await record([0.5]);
  const alone = await verify(0.9, '--arms 1');
  expect([alone.checks[0].verdict, alone.code]).toEqual(['undecided', 0]);
  expect(alone.stderr).toContain('no interval');
});
