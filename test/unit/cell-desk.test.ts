/** Cells of an experiment in the page, without a device: what is let go when something fails. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import { CellDesk, type CellDeskOptions } from '../../src/run/cell-desk';
import { memoryStore } from '../../src/store';
import { sampleExperiment } from './experiment-samples';

const page = vi.hoisted(() => ({
  pool: undefined as unknown as () => Promise<unknown>,
  base: undefined as unknown as (name: string) => Promise<Uint8Array | null>,
}));
// Workers and fetch of a site that Node does not have.
vi.mock('../../src/env/pool-browser', () => ({ createBrowserPool: () => page.pool() }));
vi.mock('../../src/run/base-file', () => ({ fetchBase: (name: string) => page.base(name) }));

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
