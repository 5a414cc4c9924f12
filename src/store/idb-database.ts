/** The database on IndexedDB. */
import type { IDBPDatabase, IDBPTransaction } from 'idb';
import { LabError } from '../core/errors';
import { Connection, type ConnectionOptions } from './connection';
import type { Database, Key, Transaction } from './database';
import type { TableName, TableRows } from './schema';
import { abortedError, errorName, quotaError, storageUsage } from './store-errors';

type AnyTransaction = IDBPTransaction<unknown, string[], IDBTransactionMode>;

export class IdbDatabase implements Database {
  readonly volatile = null;
  private constructor(private readonly connection: Connection) {}

  /** Opens the database, so that errors of opening come at once. @throws see `Connection.database` */
  static async open(options: ConnectionOptions = {}): Promise<IdbDatabase> {
    const connection = new Connection(options);
    await connection.database();
    return new IdbDatabase(connection);
  }

  read<R>(tables: readonly TableName[], work: (transaction: Transaction) => Promise<R>): Promise<R> {
    return this.connection.use((database) => this.run(database, tables, 'readonly', work));
  }

  async write<R>(
    tables: readonly TableName[],
    work: (transaction: Transaction) => Promise<R>,
    sizeBytes?: number,
  ): Promise<R> {
    try {
      return await this.connection.use((database) => this.run(database, tables, 'readwrite', work));
    } catch (error) {
      if (error instanceof LabError) throw error;
      // Only this name means that storage is full. An abort without a name means anything, and is no reason to delete.
      if (errorName(error) === 'QuotaExceededError') {
        const { usageBytes } = await storageUsage();
        throw quotaError({ neededBytes: sizeBytes ?? null, usageBytes }, error);
      }
      throw abortedError(error);
    }
  }

  close(): void {
    this.connection.close();
  }

  private async run<R>(
    database: IDBPDatabase,
    tables: readonly TableName[],
    mode: 'readonly' | 'readwrite',
    work: (transaction: Transaction) => Promise<R>,
  ): Promise<R> {
    // strict: `complete` comes after the bytes are on the disk, not after they are with the operating system.
    const transaction = database.transaction([...tables], mode, { durability: 'strict' });
    const done = transaction.done;
    done.catch(() => {}); // awaited below, or replaced by the error of `work`
    let result: R;
    try {
      result = await work(new IdbTransaction(transaction));
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        // Already aborted, by the very request that failed.
      }
      await done.catch(() => {});
      // A request of an aborted transaction says only AbortError; the transaction knows the reason.
      throw errorName(error) === 'AbortError' && transaction.error ? transaction.error : error;
    }
    try {
      await done;
    } catch (error) {
      throw transaction.error ?? error;
    }
    return result;
  }
}

class IdbTransaction implements Transaction {
  constructor(private readonly transaction: AnyTransaction) {}

  get<T extends TableName>(table: T, key: Key): Promise<TableRows[T] | undefined> {
    return this.transaction.objectStore(table).get(valid(key));
  }
  async put<T extends TableName>(table: T, key: Key, row: TableRows[T]): Promise<void> {
    await this.transaction.objectStore(table).put?.(row, valid(key));
  }
  async delete(table: TableName, key: Key): Promise<void> {
    await this.transaction.objectStore(table).delete?.(valid(key));
  }
  async deletePrefix(table: TableName, prefix: Key): Promise<void> {
    await this.transaction.objectStore(table).delete?.(range(prefix));
  }
  async scan<T extends TableName>(table: T, prefix: Key, visit: (row: TableRows[T], key: Key) => void): Promise<void> {
    // A cursor, not getAll: runs are large, and browsers cap what one answer may carry.
    let cursor = await this.transaction.objectStore(table).openCursor(range(prefix));
    while (cursor) {
      visit(cursor.value, cursor.key as unknown as Key);
      cursor = await cursor.continue();
    }
  }
  async keys(table: TableName, prefix: Key): Promise<Key[]> {
    return (await this.transaction.objectStore(table).getAllKeys(range(prefix))) as unknown as Key[];
  }
}

/** All keys that begin with `prefix`: an array sorts after every number and string. */
function range(prefix: Key): IDBKeyRange {
  return IDBKeyRange.bound([...prefix], [...prefix, []]);
}

function valid(key: Key): IDBValidKey {
  return [...key];
}
