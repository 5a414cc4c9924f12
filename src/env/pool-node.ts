/** The terminal pool of the command line. */
import './worker-errors';
import { Worker } from 'node:worker_threads';
import { releaseProxy, wrap } from 'comlink';
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs';
import { Lifetime } from '../core/lifetime';
import { createTerminalPool, type PoolOptions, type TerminalPool } from './pool';
import type { TerminalService } from './terminal-service';
import { workerDied } from './worker-died';
import type { SpawnWorker, WorkerHandle } from './worker-handle';

function nodeSpawner(script: URL): SpawnWorker {
  return (): WorkerHandle => {
    const worker = new Worker(script, { name: 'terminal' });
    const service = wrap<TerminalService>(nodeEndpoint(worker));
    const life = new Lifetime();
    worker.on('error', (error) => life.end(workerDied(error instanceof Error ? error.message : String(error))));
    worker.on('exit', (code) => life.end(workerDied(`it ended with code ${code}`)));
    let ended = false;
    const terminate = () => {
      if (ended) return;
      ended = true;
      life.end(workerDied('it was ended'));
      service[releaseProxy]();
      void worker.terminate();
    };
    return { service, life, terminate };
  };
}

export interface NodePoolOptions extends Omit<PoolOptions, 'spawn'> {
  /** The built `terminal-worker-node`; by default it lies beside the built file that contains this module. */
  readonly script?: URL;
}

/** @param options.workers 0: shells in the calling thread */
export async function createNodePool(options: NodePoolOptions): Promise<TerminalPool> {
  const { script = new URL('./terminal-worker-node.js', import.meta.url), ...rest } = options;
  return createTerminalPool({ ...rest, spawn: nodeSpawner(script) });
}
