/** Results of cells and of whole experiments: untrusted JSON in, checked values out; and how their numbers are rounded. */
import * as v from 'valibot';
import { LabError } from '../errors';
import { kernelPlanSchema } from '../kernels';
import { shellVersions } from '../shell-version';
import { OUTCOME_DIGITS, requireConsistent } from './consistency';
import type { CellResult, ExperimentResults } from './experiment';
import { between, count, exactly, kebab, list, parseWith, settings } from './parse';
import { parseExperiment } from './schema';
import { amount, orNull, share, summarySchema } from './summary-schema';

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
/** Most iterations of a run, as in the config table. */
const series = <T>(item: v.GenericSchema<unknown, T>) => list(item, 0, 10_000);

const curveSchema = exactly({
  envTokens: series(count),
  trainSuccess: series(share),
  factRecall: series(orNull(share)),
  summaryTokens: series(orNull(amount)),
  compactions: series(amount),
  turns: series(amount),
});

const hexadecimal = v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/, '16 hexadecimal digits'));

const cellSchema = exactly({
  version: v.literal(1),
  setup: kebab,
  arm: kebab,
  seed: between(1, 1000),
  hash: hexadecimal,
  config: settings,
  command: text(2000),
  adapter: text(500),
  kernels: v.exactOptional(kernelPlanSchema),
  shell: v.exactOptional(v.picklist(shellVersions)),
  build: text(100),
  base: v.exactOptional(hexadecimal),
  createdAt: v.union([v.literal(''), v.pipe(v.string(), v.isoTimestamp())], 'an ISO 8601 time, or nothing'),
  elapsedMs: amount,
  iterations: count,
  envTokens: count,
  evaluation: exactly({ comp: summarySchema, single: summarySchema, long: summarySchema }),
  curve: orNull(curveSchema),
  alarms: v.record(v.pipe(v.string(), v.regex(/^[a-z-]{1,40}$/)), count),
});

/**
 * The result of one cell, from a file or a bundle.
 * @param where for errors
 * @throws `results.bad` naming the path of the first fault, also of numbers that contradict each other
 */
export function parseCellResult(input: unknown, where: string): CellResult {
  const cell: CellResult = parseWith(cellSchema, input, {
    code: 'results.bad',
    what: 'Bad result of a cell',
    where,
    fix: WRITTEN_AGAIN,
  });
  requireConsistent(cell, where);
  return cell;
}

/** What mends results that were cut off, edited or written by another version. */
const WRITTEN_AGAIN = 'Write them again: lab experiment makes cells, lab collect --out a results file.';

/** A bundle as `lab collect` writes it. @throws LabError as above, and what `parseExperiment` throws */
export function parseResults(input: unknown, where: string): ExperimentResults {
  const bundle = parseWith(
    exactly({ version: v.literal(1), experiment: v.unknown(), cells: list(v.unknown(), 0, 20_000) }),
    input,
    { code: 'results.bad', what: 'Bad results of an experiment', where, fix: WRITTEN_AGAIN },
  );
  const experiment = parseExperiment(bundle.experiment, `${where}, experiment`);
  const cells = bundle.cells.map((cell, i) => parseCellResult(cell, `${where}, cells.${i}`));
  const keys = new Set<string>();
  for (const { setup, arm, seed } of cells) {
    const key = `${setup} ${arm} ${seed}`;
    if (keys.has(key))
      throw new LabError({
        code: 'results.duplicate',
        what: 'Two cells are the same setup, arm and seed',
        where: `${where}, cells`,
        expected: 'each once',
        got: key,
      });
    keys.add(key);
  }
  return { version: 1, experiment, cells };
}

/** The name of the cell that a result is of, see `Cell`. */
export function resultName({ setup, arm, seed, hash }: CellResult): string {
  return `${setup}--${arm}--seed-${seed}--${hash}`;
}

const digits = (most: number) => (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(most)) : value;

/** A copy with outcomes as they are kept: six significant digits, four in curves. Whole numbers and settings stay. */
export function rounded(cell: CellResult): CellResult {
  const curve = JSON.parse(JSON.stringify(cell.curve, digits(4)));
  const evaluation = JSON.parse(JSON.stringify(cell.evaluation, digits(OUTCOME_DIGITS)));
  return { ...cell, evaluation, curve };
}
