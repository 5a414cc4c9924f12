/**
 * The small database interface under the store, in the shape of IndexedDB: tables of rows under array keys, and
 * transactions that happen whole or not at all. Two implementations: idb-database.ts and memory-database.ts.
 */
import type { LabErrorParts } from '../core/errors';
import type { TableName, TableRows } from './schema';

/** Keys sort part by part, numbers before strings, a prefix before its extensions. */
export type Key = readonly (string | number)[];

/**
 * The inside of a transaction. Await nothing but these calls: an IndexedDB transaction commits by itself as soon as it
 * has nothing to do, so every row is prepared before the transaction opens.
 */
export interface Transaction {
  get<T extends TableName>(table: T, key: Key): Promise<TableRows[T] | undefined>;
  put<T extends TableName>(table: T, key: Key, row: TableRows[T]): Promise<void>;
  delete(table: TableName, key: Key): Promise<void>;
  /** Deletes every row whose key begins with `prefix`. */
  deletePrefix(table: TableName, prefix: Key): Promise<void>;
  /** Visits rows whose key begins with `prefix` in key order, one at a time in memory. */
  scan<T extends TableName>(table: T, prefix: Key, visit: (row: TableRows[T], key: Key) => void): Promise<void>;
  /** The keys that begin with `prefix`, in order. */
  keys(table: TableName, prefix: Key): Promise<Key[]>;
}

export interface Database {
  /** Why rows are kept in memory only; null when they are on disk. */
  readonly volatile: LabErrorParts | null;
  read<R>(tables: readonly TableName[], work: (transaction: Transaction) => Promise<R>): Promise<R>;
  /**
   * Resolves once the rows are on disk. An error thrown by `work` undoes everything and is passed on.
   * @param sizeBytes of what is written, about; for the message when there is no room
   * @throws LabError store.quota, store.aborted, store.closed
   */
  write<R>(
    tables: readonly TableName[],
    work: (transaction: Transaction) => Promise<R>,
    sizeBytes?: number,
  ): Promise<R>;
  close(): void;
}
