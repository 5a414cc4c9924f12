/** Results as a table for other programs: every cell a line with all its numbers, curves aside. */
import { type CsvField, csv } from '../csv';
import type { EvalSummary } from '../metrics/records';
import { type CellResult, type EvalMode, evalModes } from './experiment';

const numbers = [
  'success',
  'episodes',
  'successNeedingCompaction',
  'meanTurns',
  'meanCompactions',
  'meanSummaryTokens',
  'factRecall',
] as const satisfies readonly (keyof EvalSummary)[];

/**
 * Header row included. Columns of an evaluation are `<mode>.<number>`; `<mode>.solved.k` and `<mode>.episodes.k` are of the
 * tasks that require k compactions. Empty: no such value. `config` and `alarms` are JSON.
 */
export function resultsCsv(cells: readonly CellResult[]): string {
  const buckets = (mode: EvalMode) => Math.max(0, ...cells.map((cell) => cell.evaluation[mode].byCompactions.length));
  const widths = Object.fromEntries(evalModes.map((mode) => [mode, buckets(mode)]));
  const range = (mode: EvalMode) => Array.from({ length: widths[mode]! }, (_, k) => k);
  const head = [
    'setup',
    'arm',
    'seed',
    'hash',
    'iterations',
    'envTokens',
    ...evalModes.flatMap((mode) => [
      ...numbers.map((name) => `${mode}.${name}`),
      ...range(mode).flatMap((k) => [`${mode}.solved.${k}`, `${mode}.episodes.${k}`]),
    ]),
    'config',
    'alarms',
    'adapter',
    'build',
    'command',
    'createdAt',
    'elapsedMs',
  ];
  const line = (cell: CellResult): CsvField[] => [
    cell.setup,
    cell.arm,
    cell.seed,
    cell.hash,
    cell.iterations,
    cell.envTokens,
    ...evalModes.flatMap((mode) => {
      const evaluation = cell.evaluation[mode];
      return [
        ...numbers.map((name) => evaluation[name]),
        ...range(mode).flatMap((k) => {
          const bucket = evaluation.byCompactions[k];
          return [bucket?.solved ?? null, bucket?.episodes ?? null];
        }),
      ];
    }),
    JSON.stringify(cell.config),
    JSON.stringify(cell.alarms),
    cell.adapter,
    cell.build,
    cell.command,
    cell.createdAt,
    cell.elapsedMs,
  ];
  return csv([head, ...cells.map(line)]);
}
