/** One running terminal worker, whatever kind of thread it is. */
import type { TerminalService } from './terminal-service';

/** `TerminalService` as seen from the other side of a worker boundary. */
export type RemoteTerminalService = Pick<TerminalService, 'ready' | 'open' | 'run' | 'verify' | 'release'>;

export interface WorkerHandle {
  readonly service: RemoteTerminalService;
  /** Rejects when the worker dies or fails to load; never resolves. */
  readonly death: Promise<never>;
  /** Ends the worker; pending calls are left to `death`. Idempotent. */
  terminate(): void;
}

/** Starts a terminal worker. */
export type SpawnWorker = () => WorkerHandle;
