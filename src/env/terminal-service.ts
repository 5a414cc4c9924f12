/** The side of the pool that owns shells: runs in a terminal worker, or in the caller's thread. */
import { LabError } from '../core/errors';
import { currentShell, type ShellVersion } from '../core/shell-version';
import type { TaskInstance } from './task';
import { familyOf } from './tasks';
import { Terminal, type TerminalResult } from './terminal';

export interface OpenRequest {
  /** Number of the environment; opening it again replaces it. */
  readonly env: number;
  readonly task: TaskInstance;
  /** Version of the shell; absent: the current one. */
  readonly shell?: ShellVersion;
}
export interface RunRequest {
  readonly env: number;
  readonly command: string;
}

/** What a terminal worker exposes. Batches run one command after the other, in order. */
export class TerminalService {
  private readonly shells = new Map<number, { readonly task: TaskInstance; readonly terminal: Terminal }>();

  /** Resolves once the worker's code is loaded. */
  async ready(): Promise<true> {
    return true;
  }

  async open(batch: readonly OpenRequest[]): Promise<void> {
    for (const { env, task, shell = currentShell } of batch) {
      const { files, commands, seed, index } = task;
      const terminal = await Terminal.open({ files, commands, seed, stream: index, shell });
      this.shells.set(env, { task, terminal });
    }
  }

  async run(batch: readonly RunRequest[]): Promise<TerminalResult[]> {
    const results: TerminalResult[] = [];
    for (const { env, command } of batch) results.push(await this.shell(env).terminal.run(command));
    return results;
  }

  /** Solved share per environment, by the family's verifier in the environment's own shell. */
  async verify(envs: readonly number[]): Promise<number[]> {
    const shares: number[] = [];
    for (const env of envs) {
      const { task, terminal } = this.shell(env);
      terminal.home();
      shares.push(await familyOf(task.family).verify(task, terminal));
    }
    return shares;
  }

  async release(envs: readonly number[]): Promise<void> {
    for (const env of envs) this.shells.delete(env);
  }

  private shell(env: number) {
    const shell = this.shells.get(env);
    if (shell) return shell;
    throw new LabError({
      code: 'terminal.not-open',
      what: 'This environment is not open',
      where: `environment ${env}`,
      fix: 'Open it before running commands in it.',
    });
  }
}
