/** Kernel choices in the real trainer worker: stored with a run, and what it goes on with, whatever the cache says. */
import { afterAll, expect, test } from 'vitest';
import { errorParts } from '../../src/core/errors';
import type { IterationRecord } from '../../src/core/metrics/records';
import type { RunHeader, TrainerEvent } from '../../src/core/protocol/protocol';
import { tinyContext } from '../../src/run/presets/presets';
import { createTrainerClient } from '../../src/run/worker/client';
import { openStore } from '../../src/store';

const config = {
  ...tinyContext,
  base: 'random',
  episodes: 4,
  minibatches: 1,
  iterations: 2,
  evalEvery: 0,
  finalEvalEpisodes: 2,
  valuePretrain: 1,
};
const client = createTrainerClient();
afterAll(() => client.dispose());

const listeners = new Set<(event: TrainerEvent) => void>();
function when(matches: (event: TrainerEvent) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    listeners.add((event) => {
      if (matches(event)) resolve();
      if (event.type === 'failed') reject(new Error(event.error.what));
    });
  });
}
const finished = () => when((event) => event.type === 'progress' && event.progress.status === 'finished');
const timeless = (records: IterationRecord[]) =>
  JSON.stringify(records, (key, value) => (key.endsWith('Ms') || key.endsWith('iming') ? undefined : value));

/** Starts a run and stops it after its first iteration. */
async function cut(): Promise<string> {
  const first = when((event) => event.type === 'iteration');
  const runId = await client.start({ config, seed: 7, preset: null });
  await first;
  await client.stop();
  return runId;
}

test('a run stores its kernels and resumes with them', async () => {
  await client.subscribe((event) => {
    for (const listener of listeners) listener(event);
  });
  const store = await openStore();
  const headerOf = async (runId: string): Promise<RunHeader> => (await store.loadRun(runId))!.header;

  let done = finished();
  const whole = await client.start({ config, seed: 7, preset: null });
  await done;
  const { kernels } = await headerOf(whole);
  expect(Object.keys(kernels!.choices)).toContain('decode');
  const [report] = await client.kernels();
  expect(report!.plan.choices).toEqual(kernels!.choices);

  // The cache changes its mind between the two halves.
  const runId = await cut();
  expect((await client.loadRecords(runId)).length).toBe(1);
  const other = { ...report!, plan: { ...report!.plan, choices: { ...report!.plan.choices, decode: 'workgroup' } } };
  const keys = await new Promise<IDBValidKey[]>((resolve, reject) => {
    const opening = indexedDB.open('compaction-lab');
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = opening.result.transaction('kernels').objectStore('kernels').getAllKeys();
      request.onsuccess = () => resolve(request.result);
    };
  });
  const [adapter, version, model] = keys[0] as [string, string, string];
  await store.saveKernels(adapter, version, model, other);
  done = finished();
  await client.resume(runId);
  await done;
  expect((await client.kernels())[0]!.plan.choices.decode).toBe('workgroup');
  const records = await client.loadRecords(runId);
  expect(records.flatMap(({ alarms }) => alarms.map(({ code }) => code))).not.toContain('moved');
  expect(timeless(records)).toBe(timeless(await client.loadRecords(whole)));

  // And what the adapter does not have is refused, with the way on.
  await store.saveKernels(adapter, version, model, report);
  const lost = await cut();
  const header = await headerOf(lost);
  await store.saveHeader({
    ...header,
    kernels: { ...kernels!, choices: { ...kernels!.choices, decode: 'telepathy' } },
  });
  const refused = await client.resume(lost).then(
    () => 'resumed',
    (thrown) => errorParts(thrown).what,
  );
  expect(refused).toMatch(/kernel variant that this adapter does not have/);
  store.close();
}, 120_000);
