/** The store on a real IndexedDB: its contract, dropped connections, no disk, and workers that die. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Connection } from '../../src/store/connection';
import { IdbDatabase } from '../../src/store/idb-database';
import { openStore } from '../../src/store/open';
import { Store } from '../../src/store/store';
import { storeContract } from '../unit/store-contract';
import { bits, sampleCheckpoint, sampleHeader, sampleRecord, sampleRollouts } from '../unit/store-samples';

let count = 0;
const freshName = () => `store-test-${Date.now()}-${count++}`;

storeContract('IndexedDB', (options) => openStore({ ...options, name: freshName() }));

afterEach(() => vi.restoreAllMocks());

describe('store on IndexedDB', () => {
  test('is on disk, and another connection reads the same bits', async () => {
    const name = freshName();
    const first = await openStore({ name });
    expect(first.persistent).toBe(true);
    await first.saveHeader(sampleHeader('a'));
    await first.saveIteration('a', sampleRecord(1), sampleRollouts(6, 1), sampleCheckpoint(1));
    first.close();
    await expect(first.listRuns()).rejects.toMatchObject({ parts: { code: 'store.closed' } });
    const second = await openStore({ name });
    expect((await second.loadRun('a'))?.checkpoint).toEqual(sampleCheckpoint(1));
    expect((await second.loadRollouts('a', 1)).map(bits)).toEqual(sampleRollouts(6, 1).map(bits));
  });

  test('asks for strict durability', async () => {
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction');
    const store = await openStore({ name: freshName() });
    await store.saveHeader(sampleHeader('a'));
    expect(transaction).toHaveBeenLastCalledWith(['runs'], 'readwrite', { durability: 'strict' });
  });

  test('a worker killed in the middle of a write leaves nothing of it, wherever it was', async () => {
    /** Runs the writer until it hangs, kills it, and gives back what it said. */
    const write = async (name: string, hangAtPut: number): Promise<string> => {
      const worker = new Worker(new URL('./store-writer.worker.ts', import.meta.url), { type: 'module' });
      const said = await new Promise<string>((resolve, reject) => {
        worker.onerror = (event) => reject(new Error(event.message || 'the worker did not start'));
        worker.onmessage = ({ data }) => resolve(data);
        worker.postMessage({ name, hangAtPut });
      });
      worker.terminate();
      return said;
    };
    let killed = 0;
    for (;;) {
      const name = freshName();
      const said = await write(name, killed + 1);
      const store = await openStore({ name });
      if (said !== 'hanging') {
        expect(said).toBe(`saved with ${killed} puts`);
        expect((await store.loadRun('w'))?.records).toHaveLength(3);
        break;
      }
      killed++;
      expect((await store.loadRun('w'))?.records).toEqual([sampleRecord(1), sampleRecord(2)]);
      expect((await store.loadRun('w'))?.checkpoint).toEqual(sampleCheckpoint(2));
      expect(await store.listRuns()).toMatchObject([{ iterations: 2 }]);
      expect((await store.loadRollouts('w', 2)).map(bits)).toEqual(sampleRollouts(8, 2).map(bits));
      expect(await store.loadRollouts('w', 3)).toEqual([]);
      expect(await store.loadCheckpoint('w', 3)).toBeNull();
      await store.saveIteration('w', sampleRecord(3), [], sampleCheckpoint(3)); // and it goes on from there
      store.close();
    }
    expect(killed).toBe(4); // metrics, one chunk of rollouts, checkpoint, run
  });

  test('opens the database again after the connection was lost, and repeats what it was doing', async () => {
    const connection = new Connection({ name: freshName() });
    const lost = await connection.database();
    lost.close();
    const names = await connection.use(async (database) => {
      await database.transaction('runs').done; // on the closed connection: InvalidStateError
      return [...database.objectStoreNames];
    });
    expect(names).toContain('runs');
    expect(await connection.database()).not.toBe(lost);
  });

  test('a lost connection does not hide real errors: they are thrown, not repeated', async () => {
    const connection = new Connection({ name: freshName() });
    let calls = 0;
    const failing = connection.use(async () => {
      calls++;
      throw new TypeError('mine');
    });
    await expect(failing).rejects.toThrowError('mine');
    expect(calls).toBe(1);
  });

  test('survives the deletion of its database by another tab', async () => {
    const name = freshName();
    const store = await openStore({ name });
    await store.saveHeader(sampleHeader('a'));
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(name);
      request.onsuccess = resolve;
      request.onerror = reject;
      request.onblocked = () => reject(new Error('the store held on to its connection'));
    });
    expect(await store.listRuns()).toEqual([]);
    await store.saveHeader(sampleHeader('b'));
    expect(await store.listRuns()).toHaveLength(1);
  });

  test('an abort that is not about room says so, and removes nothing', async () => {
    const name = freshName();
    const database = await IdbDatabase.open({ name });
    const draft = { id: 'd', title: 't', value: 1, savedAt: '' };
    await database.write(['drafts'], (transaction) => transaction.put('drafts', ['d'], draft));
    const bad = database.write(['drafts'], async (transaction) => {
      await transaction.delete('drafts', ['d']);
      await transaction.put('drafts', ['e'], { ...draft, value: () => 'functions cannot be stored' });
    });
    await expect(bad).rejects.toMatchObject({ parts: { code: 'store.aborted' } });
    expect(await new Store(database).loadDraft('d')).toEqual(draft);
  });

  test('without storage it keeps runs in memory and says why', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new DOMException('denied by a test', 'SecurityError');
    });
    const store = await openStore({ name: freshName() });
    expect(store.persistent).toBe(false);
    expect(store.volatile).toMatchObject({ code: 'store.volatile', got: 'SecurityError: denied by a test' });
    await store.saveHeader(sampleHeader('a'));
    expect(await store.listRuns()).toHaveLength(1);
  });
});
