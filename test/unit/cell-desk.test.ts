/** Cells of an experiment in the page, without a device: what is let go when something fails. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defaultConfig } from '../../src/core/config/config';
import { type Cell, cellsOf, fingerprint } from '../../src/core/experiment/cells';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import { CellRunner } from '../../src/run/cell-runner/cell-runner';
import { loadBase } from '../../src/run/session/session';
import { CellDesk, type CellDeskOptions } from '../../src/run/worker/cell-desk';
import { memoryStore } from '../../src/store';
import { sampleExperiment, sampleResult } from './experiment-samples';

const page = vi.hoisted(() => ({
  pool: undefined as unknown as () => Promise<unknown>,
  base: undefined as unknown as (name: string) => Promise<Uint8Array | null>,
}));
// Workers and fetch of a site that Node does not have.
vi.mock('../../src/env/pool-browser', () => ({ createBrowserPool: () => page.pool() }));
vi.mock('../../src/run/worker/base-file', () => ({ fetchBase: (name: string) => page.base(name) }));

let held: number;
let pools: number;
beforeEach(() => {
  held = 0;
  pools = 0;
  page.base = async () => null;
  page.pool = async () => {
    pools++;
    const pool = createTerminalPool({ workers: 0 });
    const close = async () => {
      pools--;
      await pool.close();
    };
    return { ...pool, close };
  };
});

const deskWith = (options: Partial<CellDeskOptions> = {}) =>
  new CellDesk({
    store: Promise.resolve(memoryStore('')),
    context: async () => null,
    measuring: async () => ({ cache: { loadKernels: async () => new Map(), saveKernels: async () => {} } }),
    hold: async () => {
      held++;
      return async () => {
        held--;
      };
    },
    ...options,
  });
const request = { experiment: sampleExperiment, setup: 'small', arm: 'base-policy', seed: 1 };
const fails = (what: string) => async () => Promise.reject(new Error(what));

describe('device and terminals are let go', () => {
  test.each<[string, Partial<CellDeskOptions>]>([
    ['the kernel cache', { measuring: fails('the kernel cache') }],
    ['the device', { context: fails('the device') }],
  ])('where %s fails', async (what, options) => {
    await expect(deskWith(options).run(request, () => {})).rejects.toThrow(what);
    expect({ held, pools }).toEqual({ held: 0, pools: 0 });
  });

  test('where terminals cannot be started', async () => {
    page.pool = fails('no workers');
    await expect(deskWith().run(request, () => {})).rejects.toThrow('no workers');
    expect(held).toBe(0);
  });

  test('where the cell fails, and where closing its terminals does', async () => {
    await expect(deskWith().run(request, () => {})).rejects.toThrow('base checkpoint is missing');
    expect({ held, pools }).toEqual({ held: 0, pools: 0 });
    const { pool } = page;
    page.pool = async () => ({ ...((await pool()) as TerminalPool), close: fails('not closed') });
    await expect(deskWith().run(request, () => {})).rejects.toThrow('not closed');
    expect(held).toBe(0);
  });
});

const fromDisk = async (name: string): Promise<Uint8Array> => readFileSync(`public/bases/${name}.safetensors`);

test('a kept result is shown while the base it comes from is there, or cannot be reached', async () => {
  const read = vi.fn(fromDisk);
  page.base = read;
  const { parameters } = await loadBase(defaultConfig, 1, page.base);
  read.mockClear();
  const store = memoryStore('');
  const cells = await cellsOf(sampleExperiment, {
    seeds: [1, 1],
    setups: ['small'],
    arms: ['full', 'masked', 'writer'],
  });
  const bases = [await fingerprint(parameters), 'f'.repeat(16), undefined];
  for (const [i, cell] of cells.entries())
    await store.saveCell(sampleExperiment.id, cell.name, {
      ...sampleResult,
      arm: cell.arm.id,
      hash: cell.hash,
      ...(bases[i] && { base: bases[i] }),
    });
  const desk = deskWith({ store: Promise.resolve(store) });
  const shown = async () => (await desk.kept(sampleExperiment)).map(({ arm }) => arm).sort();
  expect(await shown()).toEqual(['full', 'writer']);
  expect(read).toHaveBeenCalledTimes(1);
  page.base = fails('offline');
  expect(await shown()).toEqual(['full', 'masked', 'writer']);
});

describe('what a cell needs runs before it', () => {
  const resultOf = ({ arm, hash }: Cell, base?: string) => ({
    ...sampleResult,
    arm: arm.id,
    hash,
    ...(base && { base }),
  });
  const other = 'f'.repeat(16);
  beforeEach(() => {
    page.base = fromDisk;
  });
  afterEach(() => vi.restoreAllMocks());

  /** Arms that ran for `swap`, which needs `full` and `writer`. @param lost arms whose policies are not there */
  async function ranWith(bases: Readonly<Record<string, string>>, lost: readonly string[] = []): Promise<string[]> {
    const store = memoryStore('');
    for (const cell of await cellsOf(sampleExperiment, {
      seeds: [1, 1],
      setups: ['small'],
      arms: ['full', 'writer'],
    })) {
      const base = bases[cell.arm.id];
      if (base) await store.saveCell(sampleExperiment.id, cell.name, resultOf(cell, base));
      if (!lost.includes(cell.arm.id)) await store.savePolicy(sampleExperiment.id, cell.name, new Uint8Array(8));
    }
    const ran: string[] = [];
    // Without a device: only which cells are run is of interest.
    vi.spyOn(CellRunner.prototype, 'run').mockImplementation(async (cell) => {
      ran.push(cell.arm.id);
      return resultOf(cell);
    });
    const result = await deskWith({ store: Promise.resolve(store) }).run({ ...request, arm: 'swap' }, () => {});
    expect(result?.arm).toBe('swap');
    return ran;
  }

  test('unless it is there, from the base that is there now', async () => {
    const { parameters } = await loadBase(defaultConfig, 1, fromDisk);
    const now = await fingerprint(parameters);
    expect(await ranWith({ full: now, writer: now })).toEqual(['swap']);
    expect(await ranWith({ full: now, writer: other })).toEqual(['writer', 'swap']);
    expect(await ranWith({ full: now })).toEqual(['writer', 'swap']);
    expect(await ranWith({ full: now, writer: now }, ['full'])).toEqual(['full', 'swap']);
  });
});
