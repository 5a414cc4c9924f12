import type { Lane } from './lane';
import type { TerminalService } from './terminal-service';

/**
 * Shells in the caller's thread: nothing can interrupt a command here except the count limits. The shell is loaded when
 * the first one opens, so that a pool of workers does not bring a second copy of it.
 */
export class InProcessLane implements Lane {
  readonly kills = 0;
  private loading: Promise<TerminalService> | undefined;

  private service(): Promise<TerminalService> {
    this.loading ??= import('./terminal-service').then((module) => new module.TerminalService());
    return this.loading;
  }
  async open(...args: Parameters<Lane['open']>): ReturnType<Lane['open']> {
    return (await this.service()).open(...args);
  }
  async run(...args: Parameters<Lane['run']>): ReturnType<Lane['run']> {
    return (await this.service()).run(...args);
  }
  async verify(...args: Parameters<Lane['verify']>): ReturnType<Lane['verify']> {
    return (await this.service()).verify(...args);
  }
  async release(...args: Parameters<Lane['release']>): ReturnType<Lane['release']> {
    return (await this.service()).release(...args);
  }
  close(): void {}
}
