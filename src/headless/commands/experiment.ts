import { join } from 'node:path';
import { type Cell, cellsOf, shardOf } from '../../core/experiment/cells';
import type { CellResult, Experiment } from '../../core/experiment/experiment';
import { parseResults, resultName } from '../../core/experiment/result';
import { BaseCheck } from '../../run/cell-runner/base-check';
import type { Arguments, Command } from '../command';
import { filterOf, readExperiment, shardOption } from '../experiment/arguments';
import { requireBases } from '../experiment/bases';
import { BUNDLE } from '../experiment/bundle';
import { CellFolder } from '../experiment/cell-folder';
import { openCellMachine } from '../experiment/machine';
import { sweep } from '../experiment/sweep';
import { experimentInput } from '../file-help';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { baseFromDisk, readJson } from '../runtime';
import { shown } from '../system-error';

const minutes = (ms: number) => (ms < 90_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`);

/** Exit code where other processes hold the cells that are left: nothing failed, and yet there is no whole result. */
const NOT_ALL_DONE = 3;

/** A cell as messages show it. */
const label = ({ setup, arm, seed }: Cell) => `${setup.id} ${arm.id} seed ${seed}`;

/** Lines on stderr: a cell's progress at most every five seconds, and each result with the time that is left. */
function reporter(args: Arguments) {
  const startedAt = performance.now();
  let ran = 0;
  let lastAt = 0;
  return {
    onProgress(cell: Cell, note: string) {
      const now = performance.now();
      if (now - lastAt < 5000) return;
      lastAt = now;
      args.note(`  ${label(cell)}: ${note}`);
    },
    onOutdated(cell: Cell) {
      args.note(`${label(cell)}: computed from another base than the one that is there now; it runs again`);
    },
    onDone(cell: Cell, result: CellResult, remaining: number) {
      ran++;
      const { comp, single, long } = result.evaluation;
      const left = ((performance.now() - startedAt) / ran) * remaining;
      const rates = [comp, single, long].map(({ success }) => success.toFixed(3)).join(' ');
      const time = `${minutes(result.elapsedMs)}; ${remaining} left, about ${minutes(left)}`;
      args.note(`${label(cell)}: comp single long ${rates} (${time})`);
      args.print({
        setup: cell.setup.id,
        arm: cell.arm.id,
        seed: cell.seed,
        hash: cell.hash,
        comp: comp.success,
        single: single.success,
        long: long.success,
        envTokens: result.envTokens,
        alarms: result.alarms,
        elapsedMs: result.elapsedMs,
      });
    },
  };
}

/** The command that runs one cell, the same for every shard. */
function commandOf({ id }: Experiment, kernels: string | undefined): (cell: Cell) => string {
  const given = kernels === undefined ? '' : ` --kernels '${kernels}'`;
  return ({ setup, arm, seed }) =>
    `lab experiment ${id}.json --setups ${setup.id} --arms ${arm.id} --seeds ${seed}${given}`;
}

/** Cells of `--known`. @throws file.…, config.not-json, results.… */
async function readKnown(path: string): Promise<readonly CellResult[]> {
  return parseResults(await readJson('results file', path, BUNDLE), shown(path)).cells;
}

/** Prints the cells and whether they are done, as a sweep would find them, and changes nothing. */
async function list(
  args: Arguments,
  cells: readonly Cell[],
  folder: CellFolder,
  known: ReadonlyMap<string, CellResult>,
): Promise<number> {
  const bases = new BaseCheck(baseFromDisk);
  for (const cell of cells) {
    const result = (await folder.peek(cell)) ?? known.get(cell.name) ?? null;
    const outdated = result !== null && (await bases.isOutdated(cell.config, result));
    if (outdated) args.note(`${label(cell)}: computed from another base than the one that is there now`);
    args.print({
      name: cell.name,
      done: result !== null && !outdated,
      config: cell.config,
      dependsOn: cell.dependsOn.map(({ name }) => name),
    });
  }
  return 0;
}

const experimentCommand: Command = {
  name: 'experiment',
  summary: 'run an experiment file: every arm of every setup with every seed; goes on where it was broken off',
  usage:
    'experiment <file.json> [--seeds a..b] [--arms a,b] [--setups a,b] [--shard i/n] [--out dir] [--known results.json] [--list] [--kernels …]',
  positionals: 1,
  options: {
    seeds: { type: 'string', help: 'only these seeds: a or a..b' },
    arms: { type: 'string', help: 'only these arms, by id, and those whose policies they need' },
    setups: { type: 'string', help: 'only these setups, by id' },
    shard: { type: 'string', help: 'only part i of n; the parts may run on different machines' },
    out: {
      type: 'string',
      help: 'folder with one result and one policy a cell (default results/<id of the experiment>)',
    },
    known: {
      type: 'string',
      help: 'results file of lab collect: its cells of the same configuration are taken over, not run again',
    },
    list: {
      type: 'boolean',
      help: 'print the cells, one JSON object a line, and whether they are done, there or in --known; change nothing',
    },
    kernels: kernelsOption,
  },
  input: experimentInput,
  async run(args) {
    args.requireEffect('kernels', !args.flag('list'), 'no --list, which computes nothing');
    const experiment = await readExperiment(args.required(0, 'experiment file'));
    const all = await cellsOf(experiment, filterOf(args, experiment));
    const cells = shardOf(experiment, all, ...shardOption(args));
    const kernels = await readKernels(args);
    const folder = new CellFolder(args.path('out') ?? join('results', experiment.id), (text) => args.note(text));
    const known = args.path('known');
    const recorded = known === undefined ? [] : await readKnown(known);
    if (args.flag('list'))
      return list(args, cells, folder, new Map(recorded.map((result) => [resultName(result), result])));
    await folder.prepare(experiment);
    if (known !== undefined) args.note(`${await folder.adopt(cells, recorded)} cells taken over from ${known}`);
    if (cells.length === 0) {
      args.note('This part of the experiment has no cells.');
      return 0;
    }
    const here = await openCellMachine(cells);
    const runner = here.runner({
      policies: folder,
      kernels: (machine, shape, config) => requestedPlan(args, kernels, machine, shape, config),
      command: commandOf(experiment, args.text('kernels')),
    });
    try {
      const { signal } = args;
      const report = await sweep({
        cells,
        folder,
        runner,
        bases: new BaseCheck(baseFromDisk),
        signal,
        requireReady: (open) => requireBases(open, baseFromDisk),
        ...reporter(args),
      });
      args.print({ done: report.open === 0, ...report, out: folder.path });
      if (report.open > 0 && !signal.aborted)
        args.note(`${report.open} cells are being computed by other processes. If they are not, remove *.running.`);
      return signal.aborted ? 130 : report.open > 0 ? NOT_ALL_DONE : 0;
    } finally {
      runner.dispose();
      await here.close();
    }
  },
};
export default experimentCommand;
