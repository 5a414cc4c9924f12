/** Cells on real kernels: an engine that served other cells before computes the same bits as a new one. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cell, cellsOf } from '../../src/core/experiment/cells';
import type { CellResult } from '../../src/core/experiment/experiment';
import { parseExperiment } from '../../src/core/experiment/schema';
import { createTerminalPool } from '../../src/env/pool';
import { CellRunner } from '../../src/run/cell-runner/cell-runner';
import { defaultPlan } from '../../src/run/session/kernel-plan';
import { testContext } from './transformer-support';

const experiment = parseExperiment({
  version: 1,
  id: 'reuse',
  title: 'Reuse',
  about: '',
  seeds: 1,
  warmStarts: 1,
  shared: {
    difficultyMin: 1,
    difficultyMax: 4,
    keepTask: true,
    tailSteps: 0,
    maxCompactions: 16,
    observationCap: 14,
    summaryCap: 10,
    critic: 'shared',
    advantageScale: 'rms',
    episodes: 8,
    iterations: 2,
    evalEvery: 0,
    finalEvalEpisodes: 8,
  },
  setups: [
    { id: 'chain', title: 'Chain', config: {} },
    { id: 'wide', title: 'Wider window', config: { base: 'chain-verbose', window: 76, summaryCap: 20 } },
  ],
  arms: [
    { id: 'full', title: 'Full', isolates: 'Nothing.', config: {} },
    // Fills every role of the engine: critic, reference and writer.
    {
      id: 'all-roles',
      title: 'All roles',
      isolates: 'What others leave behind.',
      config: { critic: 'separate', valuePretrain: 2, klCoef: 0.1, trainSummary: 'frozen' },
    },
    { id: 'again', title: 'Full again', isolates: 'Nothing.', config: {} },
    { id: 'untrained', title: 'Base', isolates: 'Training.', config: {}, policy: 'base' },
    { id: 'swap', title: 'Swap', isolates: 'The writer.', config: {}, policy: 'full', writer: 'all-roles' },
    { id: 'frozen', title: 'Frozen', isolates: 'The writer.', config: { trainSummary: 'frozen' }, policy: 'full' },
  ],
  claims: [],
});

const pool = createTerminalPool({ workers: 0 });
const policies = new Map<string, Uint8Array>();
let cells: Cell[];
beforeAll(async () => {
  cells = await cellsOf(experiment);
});
afterAll(async () => {
  await pool.close();
  (await testContext()).dispose();
});

async function runner(): Promise<CellRunner> {
  const context = await testContext();
  return new CellRunner({
    context,
    pool,
    base: async (name) => readFileSync(`public/bases/${name}.safetensors`),
    policies: {
      load: async (cell) => policies.get(cell) ?? null,
      save: async (cell, bytes) => void policies.set(cell, bytes),
    },
    kernels: (_machine, shape, config) => defaultPlan(context, shape, config),
    command: ({ name }) => name,
  });
}
const { signal } = new AbortController();
const timeless = (result: CellResult | null) => ({ ...result, createdAt: '', elapsedMs: 0 });

test('reused and new engines give the same results and policies, whatever ran before', async () => {
  const reused = await runner();
  const first = new Map<string, unknown>();
  for (const cell of cells) first.set(cell.name, timeless(await reused.run(cell, { signal })));
  // Once more in another order, so that each cell follows another one: dependencies are in the store by now.
  const order = [...cells].reverse();
  const trained = new Map(policies);
  for (const cell of order) {
    expect(timeless(await reused.run(cell, { signal })), cell.name).toEqual(first.get(cell.name));
    expect(policies.get(cell.name), cell.name).toEqual(trained.get(cell.name));
  }
  reused.dispose();
  for (const cell of cells) {
    const fresh = await runner();
    expect(timeless(await fresh.run(cell, { signal })), cell.name).toEqual(first.get(cell.name));
    expect(policies.get(cell.name), cell.name).toEqual(trained.get(cell.name));
    fresh.dispose();
  }
  // And the arms do differ: what was compared is not one constant.
  const outcome = (id: string) => {
    const { evaluation } = first.get(cells.find(({ arm }) => arm.id === id)!.name) as CellResult;
    return JSON.stringify(evaluation);
  };
  expect(outcome('again')).toBe(outcome('full'));
  for (const other of ['all-roles', 'untrained', 'swap', 'frozen'])
    expect(outcome(other), other).not.toBe(outcome('full'));
});

test('a cell whose policy is missing says which', async () => {
  const swap = cells.find(({ arm }) => arm.id === 'swap')!;
  const [full] = swap.dependsOn;
  policies.delete(full!.name);
  const one = await runner();
  await expect(one.run(swap, { signal })).rejects.toThrow(full!.name);
  one.dispose();
});

test('an aborted cell gives nothing, trained or only evaluated', async () => {
  const one = await runner();
  for (const id of ['full', 'untrained']) {
    const cell = cells.find(({ arm }) => arm.id === id)!;
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    expect(await one.run(cell, { signal: controller.signal, onProgress }), id).toBeNull();
  }
  one.dispose();
});
