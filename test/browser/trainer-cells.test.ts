/** Cells of an experiment in the real trainer worker: dependencies first, kept across workers, one user of the device. */
import { afterAll, expect, test } from 'vitest';
import { errorParts } from '../../src/core/errors';
import { createTrainerClient } from '../../src/run/worker/client';

const clients = [createTrainerClient()];
afterAll(() => {
  for (const client of clients) client.dispose();
});
const [client] = clients as [(typeof clients)[number]];

const smoke = await (await fetch('/experiments/smoke.json')).json();
// Its own id: what earlier tests have kept is none of its business.
const experiment = { ...smoke, id: `smoke-${Date.now() % 1e6}`, claims: [] };
const place = { experiment, setup: 'chain', seed: 3 };

test('a cell that needs another policy trains that first; both are there for the next worker; runs are refused meanwhile', async () => {
  const notes: string[] = [];
  const running = client.runCell({ ...place, arm: 'swap' }, (note) => notes.push(note));
  while (notes.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const refused = await client.start({ config: {}, seed: 1, preset: null }).catch((thrown) => errorParts(thrown).code);
  expect(refused).toBe('bench.running');
  const second = await client.runCell({ ...place, arm: 'full' }, () => {}).catch((thrown) => errorParts(thrown).code);
  expect(second).toBe('cells.running');
  const swap = await running;
  expect(swap).toMatchObject({
    arm: 'swap',
    seed: 3,
    iterations: 0,
    evaluation: { comp: { episodes: 16 }, long: { episodes: 16 } },
  });
  expect(notes.some((note) => note.startsWith('CompactionRL: iteration 1 of 2'))).toBe(true);
  const next = createTrainerClient();
  clients.push(next);
  const kept = await next.keptCells(experiment);
  expect(kept.map(({ arm }) => arm).sort()).toEqual(['full', 'swap']);
  expect(kept.find(({ arm }) => arm === 'full')).toMatchObject({
    iterations: 2,
    curve: { trainSuccess: [expect.any(Number), expect.any(Number)] },
  });
  // With other settings these are other cells.
  expect(await next.keptCells({ ...experiment, shared: { ...experiment.shared, lambda: 0.5 } })).toEqual([]);
}, 240_000);

test('cancelling ends the cell, keeps nothing of it, and frees the device', async () => {
  const cancelled = client.runCell({ ...place, arm: 'masked' }, () => void client.cancelCell());
  expect(await cancelled).toBeNull();
  expect((await client.keptCells(experiment)).map(({ arm }) => arm)).not.toContain('masked');
  const unknown = await client
    .runCell({ ...place, setup: 'other', arm: 'full' }, () => {})
    .catch((thrown) => errorParts(thrown).code);
  expect(unknown).toBe('experiment.unknown-id');
}, 120_000);
