/** The real process around a command: stdout that may be closed early, stdin lines, interrupts. */
import { createInterface } from 'node:readline';
import type { CommandIo, InputLine } from './command';

/** Exit code of a process ended by SIGINT, as shells have it (128 + 2). */
export const INTERRUPTED = 130;

export interface ProcessIo extends CommandIo {
  /** Whether SIGINT or SIGTERM asked for the end. */
  readonly interrupted: boolean;
  /** Resolves when everything written has left the process. */
  flush(): Promise<void>;
}

/** Installs the signal and pipe handlers. Call once. */
export function processIo(): ProcessIo {
  const controller = new AbortController();
  let interrupted = false;
  let closed = false;

  // `lab … | head -1` closes stdout: the command is asked to stop, and nothing more is written.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    closed = true;
    process.stderr.write('Nobody reads stdout any more: stopping after the step in hand.\n');
    controller.abort(error);
  });
  process.stderr.on('error', () => {});

  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (interrupted) process.exit(INTERRUPTED);
      interrupted = true;
      process.stderr.write('Stopping after the step in hand; once more to quit at once.\n');
      controller.abort(new Error(name));
    });
  }

  return {
    signal: controller.signal,
    get interrupted() {
      return interrupted;
    },
    out(text) {
      if (!closed) process.stdout.write(text);
    },
    err(text) {
      process.stderr.write(text);
    },
    async *lines(): AsyncGenerator<InputLine> {
      const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
      let number = 0;
      for await (const text of reader) {
        if (controller.signal.aborted) return;
        yield { number: ++number, text };
      }
    },
    flush() {
      if (closed) return Promise.resolve();
      return new Promise((resolve) => process.stdout.write('', () => resolve()));
    },
  };
}
