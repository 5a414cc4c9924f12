import { resultsCsv } from '../../core/experiment/csv';
import type { Command } from '../command';
import { readExperiment } from '../experiment/arguments';
import { bundleText, collect as collectCells, withoutTimes } from '../experiment/bundle';
import { tableOf, tableText } from '../experiment/report';
import { requireReplaceableFile, writeAtomically } from '../targets';

const collect: Command = {
  name: 'collect',
  summary: 'gather the cells of an experiment into one file; print its table',
  usage: 'collect <dir|results.json> [--experiment file] [--out results.json] [--csv file] [--strip-times] [--json]',
  positionals: 1,
  options: {
    experiment: { type: 'string', help: 'experiment file (default: the one stored with the cells)' },
    out: { type: 'string', help: 'write the bundle to this file: experiment and cells, a cell a line' },
    csv: { type: 'string', help: 'write a table with all numbers of each cell, curves aside, to this file' },
    'strip-times': { type: 'boolean', help: 'blank time fields in what is written: equal runs give equal bytes' },
    json: { type: 'boolean', help: 'print JSON lines in place of the table' },
  },
  async run(args) {
    const path = args.required(0, 'folder of cells or results file');
    const given = args.text('experiment');
    const collected = await collectCells(path, given === undefined ? undefined : await readExperiment(given));
    const { missing, ignored } = collected;
    const results = args.flag('strip-times') ? withoutTimes(collected.results) : collected.results;
    const targets: [string | undefined, () => string][] = [
      [args.text('out'), () => bundleText(results)],
      [args.text('csv'), () => resultsCsv(results.cells)],
    ];
    for (const [target] of targets) if (target !== undefined) await requireReplaceableFile(target);
    for (const [target, text] of targets) if (target !== undefined) await writeAtomically(target, text());
    for (const line of ignored) args.note(`left out: ${line}`);
    for (const { setup, arm, seed } of missing) args.note(`missing: ${setup.id} ${arm.id} seed ${seed}`);
    const table = tableOf(results);
    if (!args.flag('json')) {
      args.say(tableText(results.experiment, table));
      return;
    }
    for (const entry of table) args.print(entry);
    args.print({ done: true, cells: results.cells.length, missing: missing.length, ignored: ignored.length });
  },
};
export default collect;
