/** The database in memory: for private windows without storage, and for tests without a browser. */
import type { LabErrorParts } from '../core/errors';
import { Turns } from '../core/turns';
import type { Database, Key, Transaction } from './database';
import type { TableName, TableRows } from './schema';
import { quotaError } from './store-errors';

interface Entry {
  readonly key: Key;
  readonly row: unknown;
  readonly bytes: number;
}
type Table = Map<string, Entry>;

export class MemoryDatabase implements Database {
  private readonly tables = new Map<TableName, Table>();
  private usedBytes = 0;
  /** Transactions run one after another, as IndexedDB's do on the same tables. */
  private readonly turns = new Turns();

  /**
   * @param volatile why there is no disk
   * @param capacityBytes of typed arrays and text, about; a page that keeps more risks its tab
   */
  constructor(
    readonly volatile: LabErrorParts,
    private readonly capacityBytes = 512e6,
  ) {}

  read<R>(_tables: readonly TableName[], work: (transaction: Transaction) => Promise<R>): Promise<R> {
    return this.turns.take(() => work(new MemoryTransaction(this.tables)));
  }

  write<R>(_tables: readonly TableName[], work: (transaction: Transaction) => Promise<R>): Promise<R> {
    return this.turns.take(async () => {
      const transaction = new MemoryTransaction(this.tables);
      try {
        const result = await work(transaction);
        const used = this.usedBytes + transaction.addedBytes;
        if (used > this.capacityBytes && transaction.addedBytes > 0)
          throw quotaError({
            neededBytes: transaction.addedBytes,
            usageBytes: this.usedBytes,
            quotaBytes: this.capacityBytes,
          });
        this.usedBytes = used;
        return result;
      } catch (error) {
        transaction.undo();
        throw error;
      }
    });
  }

  close(): void {}
}

class MemoryTransaction implements Transaction {
  addedBytes = 0;
  private readonly undoSteps: (() => void)[] = [];
  constructor(private readonly tables: Map<TableName, Table>) {}

  async get<T extends TableName>(table: T, key: Key): Promise<TableRows[T] | undefined> {
    const entry = this.table(table).get(JSON.stringify(key));
    return entry && (structuredClone(entry.row) as TableRows[T]);
  }
  async put<T extends TableName>(table: T, key: Key, row: TableRows[T]): Promise<void> {
    this.set(table, JSON.stringify(key), { key: [...key], row: structuredClone(row), bytes: sizeOf(row) });
  }
  async delete(table: TableName, key: Key): Promise<void> {
    this.set(table, JSON.stringify(key), undefined);
  }
  async deletePrefix(table: TableName, prefix: Key): Promise<void> {
    for (const entry of this.select(table, prefix)) this.set(table, JSON.stringify(entry.key), undefined);
  }
  async scan<T extends TableName>(table: T, prefix: Key, visit: (row: TableRows[T], key: Key) => void): Promise<void> {
    for (const entry of this.select(table, prefix)) visit(structuredClone(entry.row) as TableRows[T], entry.key);
  }
  async keys(table: TableName, prefix: Key): Promise<Key[]> {
    return this.select(table, prefix).map((entry) => entry.key);
  }
  undo(): void {
    for (const step of this.undoSteps.reverse()) step();
  }

  private table(name: TableName): Table {
    let table = this.tables.get(name);
    if (!table) {
      table = new Map();
      this.tables.set(name, table);
    }
    return table;
  }
  private select(table: TableName, prefix: Key): Entry[] {
    const entries = [...this.table(table).values()].filter(({ key }) => prefix.every((part, i) => key[i] === part));
    return entries.sort((a, b) => compareKeys(a.key, b.key));
  }
  private set(name: TableName, id: string, entry: Entry | undefined): void {
    const table = this.table(name);
    const before = table.get(id);
    this.undoSteps.push(() => (before ? table.set(id, before) : table.delete(id)));
    if (entry) table.set(id, entry);
    else table.delete(id);
    this.addedBytes += (entry?.bytes ?? 0) - (before?.bytes ?? 0);
  }
}

/** IndexedDB's order of array keys. */
export function compareKeys(a: Key, b: Key): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i]!, b[i]!];
    if (x === y) continue;
    if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}

/** Bytes of a row, about: its typed arrays, and eight for anything else that is not text. */
function sizeOf(value: unknown): number {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value === 'string') return 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce<number>((sum, part) => sum + sizeOf(part), 8);
}
