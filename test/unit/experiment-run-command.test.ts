/** `lab experiment` with a machine that answers at once: how it ends, and what it asks for before the first cell. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { type Cell, cellsOf } from '../../src/core/experiment/cells';
import type { CellResult } from '../../src/core/experiment/experiment';
import { CellFolder } from '../../src/headless/experiment/cell-folder';
import { sampleExperiment, sampleResult } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

const here = vi.hoisted(() => ({ ran: [] as string[] }));
vi.mock('../../src/headless/experiment/machine', () => ({
  openCellMachine: async () => ({
    runner: () => ({
      run: async ({ name, setup, arm, seed, hash }: Cell): Promise<CellResult> => {
        here.ran.push(name);
        return { ...sampleResult, setup: setup.id, arm: arm.id, seed, hash };
      },
      dispose: () => {},
    }),
    close: async () => {},
  }),
}));
vi.setConfig({ testTimeout: 30_000 }); // the first test loads a command's modules, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'experiment-run-'));
const file = join(folder, 'sample.json');
const out = join(folder, 'cells');
beforeEach(() => {
  here.ran.length = 0;
  rmSync(out, { recursive: true, force: true });
  writeFileSync(file, JSON.stringify(sampleExperiment));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One setup, two arms that need no other. */
const part = { setups: ['small'], arms: ['full', 'masked'], seeds: [1, 2] as const };
const lab = (...more: string[]) =>
  labInProcess(['experiment', file, '--out', out, '--setups', 'small', '--arms', 'full,masked', ...more]);

test('exit code 0 when every cell is there, 3 when another process holds one', async () => {
  const cells = await cellsOf(sampleExperiment, part);
  const other = new CellFolder(out, () => {});
  await other.prepare(sampleExperiment);
  const held = cells[3]!;
  // A process of another machine counts as alive.
  const claim = join(out, `${held.name}.running`);
  writeFileSync(claim, JSON.stringify({ pid: 1, host: 'elsewhere' }));
  const first = await lab('--seeds', '1..2');
  expect(jsonLines(first.stdout).at(-1)).toMatchObject({ done: false, ran: 3, open: 1 });
  expect(first.stderr).toContain('1 cells are being computed by other processes');
  expect(first.code).toBe(3);
  rmSync(claim);
  const second = await lab('--seeds', '1..2');
  expect(jsonLines(second.stdout).at(-1)).toMatchObject({ done: true, ran: 1, found: 3, open: 0 });
  expect(second.code).toBe(0);
  expect(here.ran.at(-1)).toBe(held.name);
});

test('a missing warm start is named before the first cell runs, with what makes it; only open cells ask for theirs', async () => {
  const many = { ...sampleExperiment, warmStarts: 3, seeds: 3 };
  writeFileSync(file, JSON.stringify(many));
  // The base of the samples has one warm start in the site.
  const early = await lab();
  expect(early.stderr).toMatch(/bases\/chain-small-2\.safetensors.*lab -- pretrain chain-small --warm-start 2/);
  expect([early.code, here.ran]).toEqual([1, []]);
  const first = await lab('--seeds', '1');
  expect([first.code, here.ran.length]).toEqual([0, 2]);
  // Cells that are done need no base any more, though they say which it was; the first seed's is there, and is another.
  const base = 'f'.repeat(16);
  const folder = new CellFolder(out, () => {});
  for (const cell of await cellsOf(many, part))
    await folder.saveResult(cell, { ...sampleResult, arm: cell.arm.id, seed: cell.seed, hash: cell.hash, base });
  expect(jsonLines((await lab('--seeds', '2')).stdout).at(-1)).toMatchObject({ ran: 0, found: 2 });
  const done = await lab('--seeds', '1..2');
  expect(jsonLines(done.stdout).at(-1)).toMatchObject({ done: true, ran: 2, found: 2 });
});
