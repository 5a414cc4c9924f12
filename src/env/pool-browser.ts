/** The terminal pool of the page. */
import { createTerminalPool, type PoolOptions, type TerminalPool } from './pool';
import { workerDied } from './worker-died';
import { type WorkerHandle, workerHandle } from './worker-handle';

function spawnBrowserWorker(): WorkerHandle {
  // Must stay one expression: bundlers recognise it (vitejs/vite i/4256).
  const worker = new Worker(new URL('./terminal-worker.ts', import.meta.url), { type: 'module', name: 'terminal' });
  const handle = workerHandle(worker, () => worker.terminate());
  const { life } = handle;
  worker.addEventListener('error', (event) => life.end(workerDied(event.message || 'it could not be loaded')));
  worker.addEventListener('messageerror', () => life.end(workerDied('a message could not be read')));
  return handle;
}

/** @param options.workers 0: shells in the calling thread */
export async function createBrowserPool(options: Omit<PoolOptions, 'spawn'>): Promise<TerminalPool> {
  return createTerminalPool({ ...options, spawn: spawnBrowserWorker });
}
