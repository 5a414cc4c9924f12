/** A terminal worker with two commands no shell has: `hang` blocks the thread for good, `die` ends it. */
import '../../../src/env/worker-errors';
import { parentPort } from 'node:worker_threads';
import { expose } from 'comlink';
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs';
import { type RunRequest, TerminalService } from '../../../src/env/terminal-service';

class HostileService extends TerminalService {
  override async run(batch: readonly RunRequest[]) {
    const results = [];
    for (const request of batch) {
      if (request.command === 'hang') for (;;);
      if (request.command === 'die') process.exit(3);
      results.push(...(await super.run([request])));
    }
    return results;
  }
}

if (!parentPort) throw new Error('not a worker thread');
expose(new HostileService(), nodeEndpoint(parentPort));
