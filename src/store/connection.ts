/** One IndexedDB connection that survives what browsers do to connections: drops, upgrades by other tabs, deletion. */
import { type IDBPDatabase, openDB } from 'idb';
import { LabError, type LabErrorParts } from '../core/errors';
import { migrations as currentMigrations, DATABASE_NAME, type Migration } from './schema';
import { blockedError, closedError, errorName, outdatedError } from './store-errors';

export interface ConnectionOptions {
  readonly name?: string;
  /** The number of entries is the version. */
  readonly migrations?: readonly Migration[];
  /** Told when another tab blocks this one (`store.blocked`) or has replaced it (`store.outdated`). */
  readonly onNotice?: (notice: LabErrorParts) => void;
  /** How long to wait for other tabs to let an upgrade happen before giving up. */
  readonly blockedTimeoutMs?: number;
}

type State = 'usable' | 'outdated' | 'closed';

export class Connection {
  private state: State = 'usable';
  private opening: Promise<IDBPDatabase> | null = null;
  /** Counts connections, so that a late event of an old one does not discard its successor. */
  private generation = 0;

  constructor(private readonly options: ConnectionOptions = {}) {}

  /**
   * The open database; opens it, or opens it again after a drop.
   * @throws LabError store.closed, store.outdated, store.blocked, store.newer, store.migration-failed; or the browser's own error
   */
  database(): Promise<IDBPDatabase> {
    if (this.state !== 'usable') throw new LabError(this.state === 'closed' ? closedError : outdatedError);
    if (!this.opening) {
      const generation = ++this.generation;
      const opening = this.open(generation);
      opening.catch(() => this.discard(generation));
      this.opening = opening;
    }
    return this.opening;
  }

  /**
   * Runs `work` on the open database, and once more on a fresh connection when the connection was lost under it. So
   * `work` must be safe to repeat.
   */
  async use<R>(work: (database: IDBPDatabase) => Promise<R>): Promise<R> {
    const database = await this.database();
    const { generation } = this;
    try {
      return await work(database);
    } catch (error) {
      // Safari loses the connection of a page in the background without a `close` event, and then throws one of these:
      // https://bugs.webkit.org/show_bug.cgi?id=197050. Remove when Safari reports lost connections.
      const lost =
        errorName(error) === 'InvalidStateError' || /connection (was|is) (lost|closing)/i.test(String(error));
      if (lost) this.discard(generation);
      const gone = lost || generation !== this.generation || this.opening === null;
      if (!gone || error instanceof LabError) throw error;
      return work(await this.database());
    }
  }

  /** Lets go of the database for good. */
  close(): void {
    if (this.state === 'usable') this.state = 'closed';
    this.discard(this.generation);
  }

  private discard(generation: number): void {
    if (generation !== this.generation || !this.opening) return;
    this.opening.then((database) => database.close()).catch(() => {});
    this.opening = null;
  }

  private open(generation: number): Promise<IDBPDatabase> {
    const { name = DATABASE_NAME, migrations = currentMigrations, onNotice, blockedTimeoutMs = 15_000 } = this.options;
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let givenUp = false;
      let migrationError: unknown;
      const opened = openDB(name, migrations.length, {
        upgrade: async (_database, oldVersion, _newVersion, transaction, event) => {
          // Migrations use the plain API: they are frozen, and may not change with a library.
          const request = event.target as IDBOpenDBRequest;
          transaction.done.catch(() => {}); // an abort is reported by `openDB`
          try {
            for (const migrate of migrations.slice(oldVersion)) await migrate(request.result, request.transaction!);
          } catch (error) {
            migrationError = migrationFailed(error, oldVersion); // thrown here it would be nobody's: `openDB` rejects with a bare AbortError
            transaction.abort();
          }
        },
        blocked: () => {
          onNotice?.(blockedError);
          timer = setTimeout(() => {
            givenUp = true;
            reject(new LabError(blockedError));
          }, blockedTimeoutMs);
        },
        blocking: (_current, blockedVersion) => {
          // Another tab wants to upgrade (or, without a version, to delete) the database: it must not wait for us.
          if (blockedVersion !== null && this.state === 'usable') {
            this.state = 'outdated';
            onNotice?.(outdatedError);
          }
          this.discard(generation);
        },
        terminated: () => this.discard(generation),
      });
      opened.then(
        (database) => {
          clearTimeout(timer);
          // Open at last, but nobody waits any more; kept open it would block others in its turn.
          if (givenUp || this.state !== 'usable') database.close();
          if (this.state !== 'usable') reject(new LabError(closedError));
          resolve(database);
        },
        (error) => {
          clearTimeout(timer);
          reject(errorName(error) === 'VersionError' ? newerError(error) : (migrationError ?? error));
        },
      );
    });
  }
}

function migrationFailed(cause: unknown, version: number): LabError {
  return new LabError(
    {
      code: 'store.migration-failed',
      what: 'The saved runs could not be brought to the newest format; they are as they were',
      where: `browser storage, version ${version}`,
      got: cause instanceof Error ? `${cause.name}: ${cause.message}`.slice(0, 200) : String(cause),
      fix: 'Reload the page; if it happens again, report it with this text.',
    },
    { cause },
  );
}

function newerError(cause: unknown): LabError {
  return new LabError(
    {
      code: 'store.newer',
      what: 'The saved runs belong to a newer version of this page',
      where: 'browser storage',
      fix: 'Reload the page to get the newest version.',
    },
    { cause },
  );
}
