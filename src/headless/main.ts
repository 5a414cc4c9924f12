/** Entry of the `lab` command line: the process's own arguments, streams and end. */
import { reportError, runLab } from './lab';
import { INTERRUPTED, processIo } from './process-io';

const io = processIo();
const fail = (thrown: unknown): void => process.exit(reportError(thrown, io));
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);
const code = await runLab(process.argv.slice(2), io);
await io.flush();
// Explicit: a terminal worker stuck in a command, or Dawn's own threads, would keep the process alive.
process.exit(io.interrupted ? INTERRUPTED : code);
