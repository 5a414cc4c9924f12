/** What cells are computed with on this machine. */
import type { Cell } from '../../core/experiment/cells';
import { createNodePool } from '../../env/pool-node';
import { CellRunner, type CellRunnerOptions } from '../../run/cell-runner/cell-runner';
import { baseFromDisk, openMachine } from '../runtime';

/** Device and terminals. */
export interface CellMachine {
  /** A runner on them; whoever asks for it disposes it. */
  runner(options: Pick<CellRunnerOptions, 'policies' | 'kernels' | 'command' | 'shell'>): CellRunner;
  close(): Promise<void>;
}

/** Opens what the cells need. @param cells at least one @throws LabError gpu.… */
export async function openCellMachine(cells: readonly Cell[]): Promise<CellMachine> {
  const { context } = await openMachine(cells.find(({ config }) => config.engine !== 'jax')?.config.engine ?? 'jax');
  const pool = await createNodePool({ workers: Math.max(...cells.map(({ config }) => config.terminalWorkers)) });
  return {
    runner: (options) => new CellRunner({ context, pool, base: baseFromDisk, ...options }),
    close: async () => {
      await pool.close();
      context?.dispose();
    },
  };
}
