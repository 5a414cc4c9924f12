/** Entry of a terminal worker in Node. */
import './worker-errors';
import { parentPort } from 'node:worker_threads';
import { expose } from 'comlink';
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs';
import { TerminalService } from './terminal-service';

if (!parentPort) throw new Error('terminal-worker-node must run in a worker thread');
expose(new TerminalService(), nodeEndpoint(parentPort));
