/** The terminal pool of the page. */
import './worker-errors';
import { releaseProxy, wrap } from 'comlink';
import { Lifetime } from '../core/lifetime';
import { createTerminalPool, type PoolOptions, type TerminalPool } from './pool';
import type { TerminalService } from './terminal-service';
import { workerDied } from './worker-died';
import type { WorkerHandle } from './worker-handle';

function spawnBrowserWorker(): WorkerHandle {
  // Must stay one expression: bundlers recognise it (vitejs/vite i/4256).
  const worker = new Worker(new URL('./terminal-worker.ts', import.meta.url), { type: 'module', name: 'terminal' });
  const service = wrap<TerminalService>(worker);
  const life = new Lifetime();
  worker.addEventListener('error', (event) => life.end(workerDied(event.message || 'it could not be loaded')));
  worker.addEventListener('messageerror', () => life.end(workerDied('a message could not be read')));
  let ended = false;
  const terminate = () => {
    if (ended) return;
    ended = true;
    life.end(workerDied('it was ended'));
    service[releaseProxy]();
    worker.terminate();
  };
  return { service, life, terminate };
}

/** @param options.workers 0: shells in the calling thread */
export async function createBrowserPool(options: Omit<PoolOptions, 'spawn'>): Promise<TerminalPool> {
  return createTerminalPool({ ...options, spawn: spawnBrowserWorker });
}
