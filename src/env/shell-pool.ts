/** A pool whose shells are all of one version. */
import type { ShellVersion } from '../core/shell-version';
import type { TerminalPool } from './pool';

/** @param pool what opens the shells; closed with this one */
export function shellPool(pool: TerminalPool, shell: ShellVersion): TerminalPool {
  return {
    get workers() {
      return pool.workers;
    },
    get kills() {
      return pool.kills;
    },
    open: (batch) => pool.open(batch.map((request) => ({ ...request, shell }))),
    run: (batch) => pool.run(batch),
    verify: (envs) => pool.verify(envs),
    release: (envs) => pool.release(envs),
    close: () => pool.close(),
  };
}
