/** Bundles: the results of an experiment in one file, the same bytes whatever order and machines they came from. */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatError } from '../../core/errors';
import { type Cell, cellsOf } from '../../core/experiment/cells';
import type { CellResult, Experiment, ExperimentResults } from '../../core/experiment/experiment';
import { parseResults, resultName } from '../../core/experiment/result';
import { BaseCheck } from '../../run/cell-runner/base-check';
import { baseFromDisk, basesFolder, readJson } from '../runtime';
import { onFile, shown } from '../system-error';
import { CellFolder, damageOf, SET_ASIDE_LATER } from './cell-folder';

/** What a results file holds. */
export const BUNDLE = 'the results of an experiment, as lab collect --out writes them';

/** A bundle, and what there is to say about it. */
export interface Collected {
  readonly results: ExperimentResults;
  /** Cells of the experiment that are not there. */
  readonly missing: readonly Cell[];
  /** Files and cells that were left out, with the reason. */
  readonly ignored: readonly string[];
}

/**
 * Reads a folder of cells, or a bundle. Only what belongs to the experiment as it is now is taken, and of that nothing that
 * comes from another base than the file that is here; where there is none, nothing is claimed.
 * @param given an experiment to use in place of the one that is stored there
 * @throws LabError file.…, experiment.…, results.…
 */
export async function collect(path: string, given?: Experiment): Promise<Collected> {
  const at: Stats = await onFile('The results cannot be read', path, 'a folder of cells or a bundle', () => stat(path));
  return at.isDirectory() ? fromFolder(new CellFolder(path, () => {}), given) : fromBundle(path, given);
}

async function fromFolder(folder: CellFolder, given?: Experiment): Promise<Collected> {
  const experiment = given ?? (await folder.experiment());
  const cells = await cellsOf(experiment);
  const names = new Set(await folder.resultNames());
  const found: CellResult[] = [];
  const ignored: string[] = [];
  for (const cell of cells) {
    if (!names.delete(`${cell.name}.json`)) continue;
    try {
      found.push(await folder.readResult(cell));
    } catch (thrown) {
      ignored.push(formatError({ ...damageOf(thrown), fix: SET_ASIDE_LATER }));
    }
  }
  ignored.push(...[...names].map((name) => `${basename(name)}: not a cell of the experiment as it is now`));
  return collected(experiment, cells, found, ignored);
}

async function fromBundle(path: string, given?: Experiment): Promise<Collected> {
  const bundle = parseResults(await readJson('results file', path, BUNDLE), shown(path));
  const experiment = given ?? bundle.experiment;
  const cells = await cellsOf(experiment);
  const names = new Set(cells.map(({ name }) => name));
  const belongs = (cell: CellResult) => names.has(resultName(cell));
  const ignored = bundle.cells
    .filter((cell) => !belongs(cell))
    .map((cell) => `${resultName(cell)}: not a cell of the experiment as it is now`);
  return collected(experiment, cells, bundle.cells.filter(belongs), ignored);
}

async function collected(
  experiment: Experiment,
  cells: readonly Cell[],
  belonging: readonly CellResult[],
  elsewhere: readonly string[],
): Promise<Collected> {
  const bases = new BaseCheck(baseFromDisk);
  const configs = new Map(cells.map(({ name, config }) => [name, config]));
  const found: CellResult[] = [];
  const ignored = [...elsewhere];
  for (const cell of belonging) {
    const name = resultName(cell);
    if (await bases.isOutdated(configs.get(name)!, cell))
      ignored.push(`${name}: from another base than the one in ${basesFolder}`);
    else found.push(cell);
  }
  const place = <T extends { readonly id: string }>(items: readonly T[], id: string) =>
    items.findIndex((item) => item.id === id);
  const order = ({ setup, arm, seed }: CellResult) =>
    (place(experiment.setups, setup) * experiment.arms.length + place(experiment.arms, arm)) * 10_000 + seed;
  const sorted = [...found].sort((a, b) => order(a) - order(b));
  const names = new Set(found.map(resultName));
  const missing = cells.filter(({ name }) => !names.has(name));
  return { results: { version: 1, experiment, cells: sorted }, missing, ignored };
}

/** The same results without what may differ between equal runs. */
export function withoutTimes(results: ExperimentResults): ExperimentResults {
  return { ...results, cells: results.cells.map((cell) => ({ ...cell, createdAt: '', elapsedMs: 0 })) };
}

/** A bundle as text: a cell a line, so that it is small and readable in a diff. */
export function bundleText({ version, experiment, cells }: ExperimentResults): string {
  const head = JSON.stringify({ version, experiment }, null, 1).slice(0, -2);
  return `${head},\n "cells": [\n${cells.map((cell) => `  ${JSON.stringify(cell)}`).join(',\n')}\n ]\n}\n`;
}
