/** One running terminal worker, whatever kind of thread it is. */
import './worker-errors';
import { type Endpoint, releaseProxy, wrap } from 'comlink';
import { Lifetime } from '../core/lifetime';
import type { TerminalService } from './terminal-service';
import { workerDied } from './worker-died';

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

/** The handle of a worker just started, whose caller ends `life` when the worker dies. @param stop ends the thread */
export function workerHandle(endpoint: Endpoint, stop: () => void): WorkerHandle {
  const service = wrap<TerminalService>(endpoint);
  const life = new Lifetime();
  let ended = false;
  const terminate = () => {
    if (ended) return;
    ended = true;
    life.end(workerDied('it was ended'));
    service[releaseProxy]();
    stop();
  };
  return { service, life, terminate };
}
