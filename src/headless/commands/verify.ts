import { createHash } from 'node:crypto';
import { LabError } from '../../core/errors';
import { type Cell, cellsOf } from '../../core/experiment/cells';
import type { CellResult } from '../../core/experiment/experiment';
import { resultName } from '../../core/experiment/result';
import { currentShell } from '../../core/shell-version';
import type { PolicyStore } from '../../run/cell-runner/cell-runner';
import { build } from '../../run/session/build';
import { defaultPlan } from '../../run/session/kernel-plan';

import type { Arguments, Command } from '../command';
import { collect } from '../experiment/bundle';
import { type Comparison, compare, rangeText } from '../experiment/compare';
import { type CellMachine, openCellMachine } from '../experiment/machine';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { shown } from '../system-error';

/** Sorts by a hash of each name: a sample that anyone can draw again, and that does not depend on what else is there. */
function drawn<T>(items: readonly T[], nameOf: (item: T) => string, pick: number, count: number): T[] {
  const key = (item: T) =>
    createHash('sha256')
      .update(`${pick} ${nameOf(item)}`)
      .digest('hex');
  return items
    .map((item) => [key(item), item] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, count)
    .map(([, item]) => item);
}

/** @returns the cells to run again: `arms` arms of a setup, `seeds` of the recorded seeds of each */
function sample(cells: readonly Cell[], arms: number, seeds: number, pick: number): Cell[] {
  const armOf = ({ setup, arm }: Cell) => `${setup.id} ${arm.id}`;
  return drawn([...new Set(cells.map(armOf))], (name) => name, pick, arms).flatMap((name) =>
    drawn(
      cells.filter((cell) => armOf(cell) === name),
      (cell) => `${name} ${cell.seed}`,
      pick,
      seeds,
    ),
  );
}

/** Policies of this command's own runs. */
function memoryPolicies(): PolicyStore {
  const kept = new Map<string, Uint8Array>();
  return {
    load: async (cell) => kept.get(cell) ?? null,
    save: async (cell, bytes) => void kept.set(cell, bytes),
  };
}

/** Runs cells again, each with the terminal and the kernels it was recorded with, these where this adapter has them. */
class Again {
  private readonly policies = memoryPolicies();
  private readonly done = new Map<Cell, CellResult>();

  constructor(
    private readonly args: Arguments,
    private readonly here: CellMachine,
    private readonly recorded: ReadonlyMap<string, CellResult>,
    private readonly kernels: Awaited<ReturnType<typeof readKernels>>,
  ) {}

  /** @returns null when interrupted */
  async run(cell: Cell): Promise<CellResult | null> {
    const known = this.done.get(cell);
    if (known) return known;
    for (const needed of cell.dependsOn) if (!(await this.run(needed))) return null;
    const before = this.recorded.get(cell.name);
    const runner = this.here.runner({
      policies: this.policies,
      command: ({ name }) => name,
      shell: before ? (before.shell ?? 1) : currentShell,
      kernels: async (machine, shape, config) => {
        const kernels = before?.kernels;
        if (this.kernels !== undefined || !kernels || machine.context === null || machine.engine !== 'webgpu')
          return requestedPlan(this.args, this.kernels, machine, shape, config);
        return defaultPlan(machine.context, shape, config, kernels).catch(() => {
          this.args.note(`${cell.name}: this adapter lacks kernels it was recorded with; others are used`);
          return requestedPlan(this.args, undefined, machine, shape, config);
        });
      },
    });
    try {
      this.args.note(`running ${cell.name}`);
      const result = await runner.run(cell, { signal: this.args.signal });
      if (result) this.done.set(cell, result);
      return result;
    } finally {
      runner.dispose();
    }
  }
}

/** A comparison for people: the verdict, the successes it was reached by, and what is at fault. */
function wordsOf({ verdict, successes = [], faults }: Comparison): string[] {
  const judged = successes.map(
    ({ mode, recorded, got, ofOthers, ofAll }) =>
      `${mode}: recorded ${recorded} (other seeds: ${rangeText(ofOthers)}), got ${got} (all seeds: ${rangeText(ofAll)})`,
  );
  return [verdict, ...judged, ...faults];
}

const verify: Command = {
  name: 'verify',
  summary:
    'run a sample of recorded cells again and compare: equal bits on the same machine, else success by the spread of the seeds (undecided, no failure, where that is wide)',
  usage: 'verify <results.json|dir> [--arms k] [--seeds m] [--pick n] [--kernels …]',
  positionals: 1,
  options: {
    arms: { type: 'string', help: 'number of arms (each of one setup) to draw (default 2)' },
    seeds: { type: 'string', help: 'number of recorded seeds to draw of each (default 1)' },
    pick: { type: 'string', help: 'which sample: a whole number (default 0); equal numbers draw equal samples' },
    kernels: kernelsOption,
  },
  async run(args) {
    const arms = args.integer('arms', 2, 1, 1000);
    const seeds = args.integer('seeds', 1, 1, 1000);
    const pick = args.integer('pick', 0);
    const kernels = await readKernels(args);
    const path = args.required(0, 'results file or folder');
    const { results, ignored } = await collect(path);
    for (const line of ignored) args.note(`left out: ${line}`);
    const recorded = new Map(results.cells.map((cell) => [resultName(cell), cell]));
    const cells = (await cellsOf(results.experiment)).filter(({ name }) => recorded.has(name));
    const chosen = sample(cells, arms, seeds, pick);
    if (chosen.length === 0)
      throw new LabError({
        code: 'results.empty',
        what: 'There is nothing to verify',
        where: shown(path),
        expected: 'cells of the experiment in it',
        got: 'none',
      });
    const here = await openCellMachine(chosen);
    try {
      const again = new Again(args, here, recorded, kernels);
      let failed = 0;
      let undecided = 0;
      for (const cell of chosen) {
        const got = await again.run(cell);
        if (!got) return 130;
        const check = compare(recorded.get(cell.name)!, got, results.cells, chosen.length);
        if (check.ok === false) failed++;
        if (check.ok === null) undecided++;
        args.print({ cell: cell.name, ...check });
        for (const line of wordsOf(check)) args.note(`${cell.name}: ${line}`);
      }
      args.print({ done: true, cells: chosen.length, failed, undecided, build, pick });
      if (undecided > 0) args.note(`undecided: ${undecided}: too few recorded seeds, or too far apart, to tell`);
      return failed > 0 ? 1 : 0;
    } finally {
      await here.close();
    }
  },
};
export default verify;
