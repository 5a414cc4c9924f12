/** What the store does, on the database in memory. test/browser/store.test.ts repeats it on a real IndexedDB. */
import { describe, expect, test } from 'vitest';
import { LabError } from '../../src/core/errors';
import { compareKeys, MemoryDatabase } from '../../src/store/memory-database';
import { openStore } from '../../src/store/open';
import { Store } from '../../src/store/store';
import { storeContract } from './store-contract';
import { sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from './store-samples';

const why = { code: 'store.volatile', what: 'a test' };

storeContract('memory', async (options) => new Store(new MemoryDatabase(why), options));

describe('store in memory', () => {
  test('is what Node gets, and says so', async () => {
    const store = await openStore();
    expect(store.persistent).toBe(false);
    expect(store.volatile).toMatchObject({ code: 'store.volatile', got: 'it has no IndexedDB' });
  });

  test('keeps copies: changing an array after saving changes nothing saved', async () => {
    const store = new Store(new MemoryDatabase(why));
    await store.saveHeader(sampleHeader('a'));
    const checkpoint = sampleCheckpoint(1);
    await store.saveIteration('a', sampleRecord(1), [], checkpoint);
    checkpoint.policy.parameters.fill(9);
    expect((await store.loadRun('a'))?.checkpoint).toEqual(sampleCheckpoint(1));
  });

  test('a full store refuses with sizes and the fix, and loses nothing saved before', async () => {
    // Room for the first iteration (6 lists of 64 floats = 1.5 kB, and small rows), not for one of 6 × 4096 floats.
    const store = new Store(new MemoryDatabase(why, 20_000));
    await store.saveHeader(sampleHeader('a'));
    await store.saveIteration('a', sampleRecord(1), [], sampleCheckpoint(1));
    const tooMuch = store.saveIteration('a', sampleRecord(2), sampleRollouts(3, 1), sampleCheckpoint(2, 4096));
    await expect(tooMuch).rejects.toThrowError(
      /no room left.*expected room for .* kB more, got .* kB in use of 20\.0 kB allowed/,
    );
    await expect(tooMuch).rejects.toMatchObject({ parts: { code: 'store.quota' } });
    const run = await store.loadRun('a');
    expect(run?.records).toEqual([sampleRecord(1)]);
    expect(run?.checkpoint).toEqual(sampleCheckpoint(1));
    expect(await store.loadRollouts('a', 2)).toEqual([]);
    // And there is room again once something is deleted.
    await store.deleteRun('a');
    await store.saveHeader(sampleHeader('b'));
    await store.saveIteration('b', sampleRecord(1), [], sampleCheckpoint(1));
    expect((await store.listRuns()).map((r) => r.header.runId)).toEqual(['b']);
  });

  test('orders keys as IndexedDB does', () => {
    const keys = [['a', 10], ['a'], ['a', 9], ['a', 'x'], ['b'], ['a', 9, 1], []];
    expect(keys.sort(compareKeys)).toEqual([[], ['a'], ['a', 9], ['a', 9, 1], ['a', 10], ['a', 'x'], ['b']]);
  });

  test('an error inside a transaction undoes all of it', async () => {
    const database = new MemoryDatabase(why);
    const draft = (title: string) => ({ id: 'd', title, value: null, savedAt: '' });
    await database.write(['drafts'], (t) => t.put('drafts', ['d'], draft('before')));
    const failing = database.write(['drafts'], async (t) => {
      await t.put('drafts', ['d'], draft('after'));
      await t.put('drafts', ['e'], draft('new'));
      await t.deletePrefix('drafts', ['d']);
      throw new LabError({ code: 'test', what: 'stop' });
    });
    await expect(failing).rejects.toThrowError('stop');
    const kept: unknown[] = [];
    await database.read(['drafts'], (t) => t.scan('drafts', [], (row, key) => kept.push([key, row.title])));
    expect(kept).toEqual([[['d'], 'before']]);
  });
});
