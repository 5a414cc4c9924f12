/** The terminal pool of the command line. */
import { Worker } from 'node:worker_threads';
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs';
import { createTerminalPool, type PoolOptions, type TerminalPool } from './pool';
import { workerDied } from './worker-died';
import { type SpawnWorker, workerHandle } from './worker-handle';

function nodeSpawner(script: URL): SpawnWorker {
  return () => {
    const worker = new Worker(script, { name: 'terminal' });
    const handle = workerHandle(nodeEndpoint(worker), () => void worker.terminate());
    const { life } = handle;
    worker.on('error', (error) => life.end(workerDied(error instanceof Error ? error.message : String(error))));
    worker.on('exit', (code) => life.end(workerDied(`it ended with code ${code}`)));
    return handle;
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
