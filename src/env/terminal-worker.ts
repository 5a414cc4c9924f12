/** Entry of a terminal worker in the browser. */
import './worker-errors';
import { expose } from 'comlink';
import { TerminalService } from './terminal-service';

expose(new TerminalService());
