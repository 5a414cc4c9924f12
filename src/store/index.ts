/** What other floors use of the store. */
export { memoryStore, openStore } from './open';
export { askPersistence } from './persistence';
export { type DraftSummary, Store, type StoredRun, type StoreOptions } from './store';
export { formatBytes, storageUsage, type Usage } from './store-errors';
