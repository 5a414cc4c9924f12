import type { TerminalResult } from './terminal';
import type { OpenRequest, RunRequest } from './terminal-service';

/** One worker's share of the pool. */
export interface Lane {
  open(batch: readonly OpenRequest[]): Promise<void>;
  run(batch: readonly RunRequest[]): Promise<TerminalResult[]>;
  verify(envs: readonly number[]): Promise<number[]>;
  release(envs: readonly number[]): Promise<void>;
  readonly kills: number;
  close(): void;
}
