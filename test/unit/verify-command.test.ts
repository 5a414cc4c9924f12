/** `lab verify` of results from another machine, with a machine that answers at once: what a sample may differ by. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Cell, cellsOf } from '../../src/core/experiment/cells';
import type { CellResult } from '../../src/core/experiment/types';
import { sampleEvaluation, sampleExperiment, sampleResult } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

const here = vi.hoisted(() => ({ run: undefined as unknown as (cell: Cell) => CellResult }));
vi.mock('../../src/headless/experiment/machine', () => ({
  openCellMachine: async () => ({
    runner: () => ({ run: async (cell: Cell) => here.run(cell), dispose: () => {} }),
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

/** Success of seeds 1 to 3: mean 0.51, s 0.01. */
const recorded = [0.5, 0.51, 0.52];
beforeAll(async () => {
  const cells = await cellsOf(sampleExperiment, { setups: ['small'], arms: ['full', 'masked'] });
  const results = cells.map((cell) => resultOf(cell, recorded[cell.seed - 1]!));
  writeFileSync(file, JSON.stringify({ version: 1, experiment: sampleExperiment, cells: results }));
});

// With two degrees of freedom t is L · √(2 / (1 − L²)) for a level L, and the interval 0.51 ± t · 0.01 · √(4/3):
// ± 0.0497 at 95 %; three values are tested of a cell, so ± 0.0883 at 1 − 0.05/3 for one cell and ± 0.1257 at 1 − 0.05/6 for two.
test.each([
  ['--arms 1', 0.57, 'inside'],
  ['--arms 1', 0.59, 'inside'],
  ['--arms 1', 0.605, 'outside'],
  ['--arms 2', 0.605, 'inside'],
  ['--arms 1 --seeds 2', 0.63, 'inside'],
  ['--arms 2', 0.64, 'outside'],
])('%s, success %d: %s', async (options, success, verdict) => {
  here.run = (cell) => ({ ...resultOf(cell, success), adapter: 'another' });
  const cells = options === '--arms 1' ? 1 : 2;
  const { code, stdout, stderr } = await labInProcess(['verify', file, ...options.split(' ')]);
  const lines = jsonLines(stdout);
  expect(lines.slice(0, -1).map((line) => line.verdict)).toEqual(Array(cells).fill(verdict));
  expect(lines.at(-1)).toMatchObject({ done: true, cells, failed: verdict === 'inside' ? 0 : cells });
  expect(code).toBe(verdict === 'inside' ? 0 : 1);
  expect(stderr.match(/evaluation\.comp\.success: \S+ is outside/g)?.length ?? 0).toBe(
    verdict === 'inside' ? 0 : cells,
  );
});
