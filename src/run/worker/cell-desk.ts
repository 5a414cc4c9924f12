/** Cells of experiments in the page: one at a time, kept in the store as soon as they are done. */
import { LabError } from '../../core/errors';
import { type Cell, cellsOf } from '../../core/experiment/cells';
import type { CellResult, Experiment } from '../../core/experiment/experiment';
import { parseCellResult, resultName } from '../../core/experiment/result';
import { parseExperiment } from '../../core/experiment/schema';
import type { CellRequest } from '../../core/protocol/protocol';
import { createBrowserPool } from '../../env/pool-browser';
import type { GpuContext } from '../../gpu/device';
import type { EngineKind } from '../../model/engine';
import type { Store } from '../../store';
import { BaseCheck } from '../cell-runner/base-check';
import { CellRunner, type PolicyStore } from '../cell-runner/cell-runner';
import { type MeasureOptions, planFor } from '../session/kernel-plan';
import { fetchBase } from './base-file';
import { Desk } from './desk';
import type { Release } from './run-lock';

export interface CellDeskOptions {
  readonly store: Promise<Store>;
  /** Null where there is no graphics adapter. */
  readonly context: (engine: EngineKind) => Promise<GpuContext | null>;
  readonly measuring: () => Promise<MeasureOptions>;
  /** Takes the device. @throws LabError bench.busy, bench.running */
  readonly hold: () => Promise<Release>;
}

/** The experiment with room for any seed up to `seed`: which seeds it has decides nothing about a cell. */
function widened(experiment: Experiment, seed: number): Experiment {
  const free = <T extends { readonly seeds?: number }>({ seeds: _, ...rest }: T) => rest;
  return {
    ...experiment,
    seeds: Math.max(experiment.seeds, seed),
    setups: experiment.setups.map(free),
    arms: experiment.arms.map(free),
  };
}

/** A kept row; nothing of one that another build stored: it is computed again when it is asked for. */
function readable(row: unknown, i: number): CellResult[] {
  try {
    return [parseCellResult(row, `kept cell ${i}`)];
  } catch (thrown) {
    if (thrown instanceof LabError) return [];
    throw thrown;
  }
}

export class CellDesk {
  private readonly desk = new Desk(
    () => new LabError({ code: 'cells.running', what: 'A cell is running already', fix: 'Wait for it, or stop it.' }),
  );

  constructor(private readonly options: CellDeskOptions) {}

  /** Ends the cell in hand at its next gate; what it had is lost, cells that are done are kept. */
  cancel(): void {
    this.desk.cancel();
  }

  /**
   * Results of an experiment that this browser has, as far as they are of its present settings and of the present bases.
   * @throws LabError experiment.…, and of a base file that is none
   */
  async kept(input: unknown): Promise<CellResult[]> {
    const experiment = parseExperiment(input);
    // A hash holds everything but the seed, and of that only the warm start: these seeds have them all.
    const current = await cellsOf(widened(experiment, experiment.warmStarts));
    const known = new Map(current.map((cell) => [`${cell.setup.id} ${cell.arm.id} ${cell.hash}`, cell]));
    const rows = await (await this.options.store).loadCells(experiment.id);
    // Offline nothing can be said of a base, and what is kept is shown.
    const bases = new BaseCheck((name) => fetchBase(name).catch(() => null));
    const results: CellResult[] = [];
    for (const result of rows.flatMap(readable)) {
      const cell = known.get(`${result.setup} ${result.arm} ${result.hash}`);
      if (cell && !(await bases.isOutdated(cell.config, result))) results.push(result);
    }
    return results;
  }

  /**
   * Runs a cell and, before it, the cells whose policies it needs and that are not there.
   * @returns the result once it is kept; null when it was cancelled
   * @throws LabError `cells.running` while another one runs; `experiment.…`; `bench.…`; whatever a run throws
   */
  run({ experiment: input, setup, arm, seed }: CellRequest, onProgress: (note: string) => void) {
    return this.desk.take(async (signal) => {
      const experiment = parseExperiment(input);
      const cells = await cellsOf(widened(experiment, seed), { setups: [setup], arms: [arm], seeds: [seed, seed] });
      const cell = cells.find((other) => other.arm.id === arm);
      if (!cell)
        throw new LabError({
          code: 'experiment.unknown-cell',
          what: 'The experiment has no such cell',
          got: `${setup}, ${arm}, seed ${seed}`,
        });
      return this.compute(experiment.id, cell, signal, onProgress);
    });
  }

  /** Takes the device and terminals for a cell, and lets them go however it ends. */
  private async compute(id: string, wanted: Cell, signal: AbortSignal, onProgress: (note: string) => void) {
    const { options } = this;
    const store = await options.store;
    const release = await options.hold();
    try {
      const measuring = { ...(await options.measuring()), signal };
      const context = await options.context(wanted.config.engine);
      const pool = await createBrowserPool({ workers: wanted.config.terminalWorkers });
      try {
        const policies: PolicyStore = {
          load: (name) => store.loadPolicy(name),
          save: (name, bytes) => store.savePolicy(id, name, bytes),
        };
        const runner = new CellRunner({
          context,
          pool,
          base: fetchBase,
          policies,
          kernels: (machine, shape, config) => planFor(machine, shape, config, measuring),
          command: () => `in the page: ${id}`,
        });
        return await runInOrder(id, wanted, { store, runner, bases: new BaseCheck(fetchBase), signal, onProgress });
      } finally {
        await pool.close();
      }
    } finally {
      await release();
    }
  }
}

interface Computing {
  readonly store: Store;
  readonly runner: CellRunner;
  readonly bases: BaseCheck;
  readonly signal: AbortSignal;
  readonly onProgress: (note: string) => void;
}

/**
 * Runs what a cell depends on, as far as it is not there or comes from another base, then the cell; keeps every result;
 * disposes the runner.
 */
async function runInOrder(id: string, wanted: Cell, { store, runner, bases, signal, onProgress }: Computing) {
  try {
    const kept = new Map((await store.loadCells(id)).flatMap(readable).map((result) => [resultName(result), result]));
    for (const cell of [...wanted.dependsOn, wanted]) {
      const before = kept.get(cell.name);
      const serves = cell !== wanted && before !== undefined && !(await bases.isOutdated(cell.config, before));
      if (serves && (await store.loadPolicy(cell.name))) continue;
      const result = await runner.run(cell, {
        signal,
        onProgress: ({ iteration, iterations, note }) =>
          onProgress(`${cell.arm.title}: ${iterations > 0 ? `iteration ${iteration} of ${iterations}, ` : ''}${note}`),
      });
      if (result === null) return null;
      await store.saveCell(id, cell.name, result);
      if (cell === wanted) return result;
    }
    return null;
  } finally {
    runner.dispose();
  }
}
