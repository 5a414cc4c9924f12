import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Cell } from '../../core/experiment/cells';
import { claimsCsv } from '../../core/experiment/claims-csv';
import { resultsCsv } from '../../core/experiment/csv';
import type { Experiment } from '../../core/experiment/experiment';
import { armTable, decideClaims } from '../../core/experiment/verdicts';
import type { Arguments, Command } from '../command';
import { readExperiment } from '../experiment/arguments';
import { bundleText, collect as collectCells, withoutTimes } from '../experiment/bundle';
import { claimsText } from '../experiment/claims-text';
import { tableText } from '../experiment/report';
import { shown } from '../system-error';
import { requireReplaceableFile, writeAtomically } from '../targets';

/** What is not there yet, in one line: so much of each setup. */
function missingLine({ setups }: Experiment, missing: readonly Cell[], cells: number): string {
  const counts = setups.map(({ id }) => [id, missing.filter(({ setup }) => setup.id === id).length] as const);
  const parts = counts.filter(([, count]) => count > 0).map(([id, count]) => `${id} ${count}`);
  return `missing: ${missing.length} of ${missing.length + cells} cells (${parts.join(', ')}); lab experiment --list names them`;
}

/** A path without links in its folder, so that two names of one file are the same. */
function placeOf(path: string): string {
  const whole = resolve(path);
  const folder = dirname(whole);
  return existsSync(folder) ? join(realpathSync(folder), basename(whole)) : whole;
}

/**
 * Files to write; `--out` may replace the bundle that is read, as it holds the same.
 * @throws usage.bad-value where two are the same, or one is read: the last would replace the others
 */
function targetsOf(args: Arguments): { readonly option: 'out' | 'csv' | 'claims'; readonly path: string }[] {
  const given = (['out', 'csv', 'claims'] as const).flatMap((option) => {
    const path = args.path(option);
    return path === undefined ? [] : [{ option, path }];
  });
  const read = [
    ['the file that is read', args.required(0, 'folder of cells or results file')],
    ['--experiment', args.text('experiment')],
  ] as const;
  for (const [i, { option, path }] of given.entries()) {
    const source = read.find(([name, other]) => {
      const replaces = option === 'out' && name !== '--experiment';
      return !replaces && other !== undefined && placeOf(other) === placeOf(path);
    });
    if (source)
      throw args.usageError('usage.bad-value', `--${option} would replace ${source[0]}`, {
        expected: 'another file',
        got: shown(path),
      });
    const before = given.slice(0, i).find((other) => placeOf(other.path) === placeOf(path));
    if (before)
      throw args.usageError('usage.bad-value', `--${before.option} and --${option} name the same file`, {
        expected: 'a file for each',
        got: shown(path),
      });
  }
  return given;
}

const collect: Command = {
  name: 'collect',
  summary: 'gather the cells of an experiment into one file; print its table and a verdict on each claim',
  usage:
    'collect <dir|results.json> [--experiment file] [--out results.json] [--csv file] [--claims file] [--strip-times] [--json]',
  positionals: 1,
  options: {
    experiment: { type: 'string', help: 'experiment file (default: the one stored with the cells)' },
    out: { type: 'string', help: 'write the bundle to this file: experiment and cells, a cell a line' },
    csv: { type: 'string', help: 'write a table with all numbers of each cell, curves aside, to this file' },
    claims: { type: 'string', help: 'write a table with difference, tests and verdict of each claim to this file' },
    'strip-times': { type: 'boolean', help: 'blank time fields in what is written: equal runs give equal bytes' },
    json: { type: 'boolean', help: 'print JSON lines in place of the tables: arms, then claims' },
  },
  async run(args) {
    const path = args.required(0, 'folder of cells or results file');
    const targets = targetsOf(args);
    // The tables on stdout and those of the claims hold no times.
    args.requireEffect('strip-times', args.given('out') || args.given('csv'), '--out or --csv, whose files hold times');
    const given = args.path('experiment');
    const collected = await collectCells(path, given === undefined ? undefined : await readExperiment(given));
    const { missing, ignored } = collected;
    const results = args.flag('strip-times') ? withoutTimes(collected.results) : collected.results;
    const { experiment, cells } = results;
    const claims = decideClaims(results);
    const texts = { out: () => bundleText(results), csv: () => resultsCsv(cells), claims: () => claimsCsv(claims) };
    for (const { path: target } of targets) await requireReplaceableFile(target);
    for (const { option, path: target } of targets) await writeAtomically(target, texts[option]());
    for (const line of ignored) args.note(`left out: ${line}`);
    if (missing.length > 0) args.note(missingLine(experiment, missing, cells.length));
    const table = armTable(results);
    if (!args.flag('json')) {
      args.say(tableText(results, table));
      args.say(`\n${claimsText(results, claims)}`);
      return;
    }
    for (const sample of table) args.print({ kind: 'arm', ...sample });
    for (const result of claims) args.print({ kind: 'claim', ...result });
    args.print({ done: true, cells: cells.length, missing: missing.length, ignored: ignored.length });
  },
};
export default collect;
