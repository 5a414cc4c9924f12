import type { Lane } from './lane';
import { TerminalService } from './terminal-service';

/** Shells in the caller's thread: nothing can interrupt a command here except the count limits. */
export class InProcessLane extends TerminalService implements Lane {
  readonly kills = 0;
  close(): void {}
}
