/** Opens the store: on disk where the browser allows it, in memory where it does not. */
import { LabError } from '../core/errors';
import type { ConnectionOptions } from './connection';
import { IdbDatabase } from './idb-database';
import { MemoryDatabase } from './memory-database';
import { Store, type StoreOptions } from './store';

/**
 * Opens the store. Without usable IndexedDB (some private windows, blocked site data, a full disk) it keeps everything in
 * memory and says so: `store.persistent` is false and `store.volatile` tells why.
 * @param options.onNotice told when other tabs block this one or have replaced it; see connection.ts
 * @throws LabError store.blocked, store.newer, store.migration-failed: the data is there, and memory in its place would hide it
 */
export async function openStore(options: ConnectionOptions & StoreOptions = {}): Promise<Store> {
  if (typeof indexedDB === 'undefined') return memoryStore('it has no IndexedDB', options);
  try {
    return new Store(await IdbDatabase.open(options), options);
  } catch (error) {
    if (error instanceof LabError) throw error;
    return memoryStore(error instanceof Error ? `${error.name}: ${error.message}` : String(error), options);
  }
}

/** A store that ends with the page. @param got what the browser said */
export function memoryStore(got: string, options: StoreOptions = {}): Store {
  const volatile = {
    code: 'store.volatile',
    what: 'This browser does not let the page save: runs last until the tab is closed',
    where: 'browser storage',
    expected: 'IndexedDB',
    got,
    fix: 'Leave the private window, or allow site data for this page. Export what you want to keep.',
  };
  return new Store(new MemoryDatabase(volatile), options);
}
