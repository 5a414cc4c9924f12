/** Databases of other versions: old ones are upgraded and read, newer ones left alone, and tabs do not block each other. */
import { describe, expect, test } from 'vitest';
import type { LabErrorParts } from '../../src/core/errors';
import { rolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import { openStore } from '../../src/store/open';
import { type Migration, migrations } from '../../src/store/schema';
import fixture from '../fixtures/store-v1.json';
import { sampleCheckpoint, sampleHeader, sampleRecord } from '../unit/store-samples';

let count = 0;
const freshName = () => `upgrade-test-${Date.now()}-${count++}`;

/** Typed arrays of the fixture. */
function thaw(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(thaw);
  if (typeof value !== 'object' || value === null) return value;
  const [[kind, list] = []] = Object.entries(value);
  if (kind === 'Float32Array') return new Float32Array(Uint32Array.from(list).buffer);
  if (kind === 'Uint16Array') return Uint16Array.from(list);
  if (kind === 'Uint8Array') return Uint8Array.from(list);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, thaw(part)]));
}

/** Opens with the browser's own API, as an old or a new page would. */
function rawOpen(name: string, version: number, upgrade: (database: IDBDatabase) => void): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => upgrade(request.result);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The database of version 1, from the fixture and nothing else. */
async function makeVersion1(name: string): Promise<IDBDatabase> {
  const database = await rawOpen(name, 1, (db) => {
    for (const table of Object.keys(fixture.tables)) db.createObjectStore(table);
  });
  const write = database.transaction(Object.keys(fixture.tables), 'readwrite');
  for (const [table, rows] of Object.entries(fixture.tables))
    for (const [key, row] of rows) write.objectStore(table).put(thaw(row), key as IDBValidKey);
  await new Promise((resolve, reject) => {
    write.oncomplete = resolve;
    write.onabort = () => reject(write.error);
  });
  return database;
}

/** A made-up next version: a new table, and every run touched. */
const next: Migration = async (database, transaction) => {
  database.createObjectStore('a-table-of-the-future');
  const runs = transaction.objectStore('runs');
  await new Promise<void>((resolve, reject) => {
    const request = runs.openCursor();
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) return resolve();
      cursor.update({ ...cursor.value, status: 'stopped' });
      cursor.continue();
    };
  });
};

/** Configuration keys that the first release did not know. */
const later = [
  'kernels',
  'trainWindowScale',
  'warmStart',
  'envTokenBudget',
  'attempts',
  'retryNote',
  'trigger',
  'summaryPrice',
  'recallReward',
];

const expectFixture = async (name: string, versions: readonly Migration[], status: string) => {
  const store = await openStore({ name, migrations: versions });
  const run = await store.loadRun('fixture-run');
  // As it was stored: configuration keys that came later are added when a run is resumed or listed.
  const { config, ...header } = sampleHeader('fixture-run');
  const then = Object.fromEntries(Object.entries(config).filter(([key]) => !later.includes(key)));
  expect(run?.header).toEqual({ ...header, config: then });
  expect(run?.records).toEqual([sampleRecord(1), sampleRecord(2)]);
  expect(run?.checkpoint).toEqual(sampleCheckpoint(2, 8));
  const rollouts = [...(await store.loadRollouts('fixture-run', 1)), ...(await store.loadRollouts('fixture-run', 2))];
  expect(rollouts.map((rollout) => rolloutLine(rollout))).toEqual(fixture.trajectories);
  expect(await store.listRuns()).toMatchObject([{ iterations: 2, status }]);
  expect(await store.loadDraft('draft')).toMatchObject({ title: 'A draft', value: { version: 1 } });
  return store;
};

describe('versions of the store', () => {
  test('this version reads the database as it was first released', async () => {
    const name = freshName();
    (await makeVersion1(name)).close();
    await expectFixture(name, migrations, 'paused');
  });

  test('an upgrade keeps every bit and runs each migration once', async () => {
    const name = freshName();
    (await makeVersion1(name)).close();
    const store = await expectFixture(name, [...migrations, next], 'stopped');
    store.close();
    await expectFixture(name, [...migrations, next], 'stopped');
  });

  test('a migration that fails leaves the old database as it was, and says so', async () => {
    const name = freshName();
    (await makeVersion1(name)).close();
    const broken: Migration = async (database, transaction) => {
      await next(database, transaction);
      throw new Error('a mistake');
    };
    await expect(openStore({ name, migrations: [...migrations, broken] })).rejects.toMatchObject({
      parts: { code: 'store.migration-failed', got: 'Error: a mistake' },
    });
    await expectFixture(name, migrations, 'paused');
  });

  test('a tab that holds on to the old version: the user is told, and the upgrade happens once it is closed', async () => {
    const name = freshName();
    const other = await makeVersion1(name); // never listens for versionchange
    const notices: LabErrorParts[] = [];
    const opening = openStore({ name, migrations: [...migrations, next], onNotice: (notice) => notices.push(notice) });
    await expect.poll(() => notices.map((notice) => notice.code)).toEqual(['store.blocked']);
    expect(notices[0]?.fix).toContain('Close all other tabs');
    other.close();
    expect(await (await opening).listRuns()).toHaveLength(1);
  });

  test('a tab that never lets go: an error instead of waiting for ever, and no data hidden behind an empty store', async () => {
    const name = freshName();
    const other = await makeVersion1(name);
    const opening = openStore({ name, migrations: [...migrations, next], blockedTimeoutMs: 100 });
    await expect(opening).rejects.toMatchObject({ parts: { code: 'store.blocked' } });
    other.close();
    await expectFixture(name, [...migrations, next], 'stopped');
  });

  test('an open store lets a newer tab upgrade at once, says that it is outdated, and refuses to write', async () => {
    const name = freshName();
    const notices: string[] = [];
    const old = await openStore({ name, onNotice: (notice) => notices.push(notice.code) });
    await old.saveHeader(sampleHeader('a'));
    const newer = await openStore({ name, migrations: [...migrations, next], blockedTimeoutMs: 2000 });
    expect(notices).toEqual(['store.outdated']);
    await expect(old.saveStatus('a', 'running')).rejects.toMatchObject({ parts: { code: 'store.outdated' } });
    await expect(old.listRuns()).rejects.toMatchObject({ parts: { code: 'store.outdated' } });
    expect(await newer.listRuns()).toMatchObject([{ status: 'stopped' }]);
  });

  test('a database of a newer version is left alone', async () => {
    const name = freshName();
    (await rawOpen(name, 99, (database) => database.createObjectStore('future'))).close();
    await expect(openStore({ name })).rejects.toMatchObject({ parts: { code: 'store.newer' } });
    const database = await rawOpen(name, 99, () => {});
    expect([...database.objectStoreNames]).toEqual(['future']);
    database.close();
  });
});
