/** One running terminal worker, whatever kind of thread it is. */
import type { Lifetime } from '../core/lifetime';
import type { TerminalService } from './terminal-service';

/** `TerminalService` as seen from the other side of a worker boundary. */
export type RemoteTerminalService = Pick<TerminalService, 'ready' | 'open' | 'run' | 'verify' | 'release'>;

export interface WorkerHandle {
  readonly service: RemoteTerminalService;
  /** Ends when the worker dies, fails to load or is terminated. */
  readonly life: Lifetime;
  /** Ends the worker; pending calls are left to `life`. Idempotent. */
  terminate(): void;
}

/** Starts a terminal worker. */
export type SpawnWorker = () => WorkerHandle;
