/** Values of the flags, checked. */
import { LabError } from '../core/errors';
import type { BenchRun } from './bench';

/** A usage error: exit code 2. */
export function usageError(what: string, expected: string, got: string): LabError {
  return new LabError({ code: 'usage.bench', what, expected, got, fix: 'See: npm run --silent bench -- --help' });
}

/** The names given to `--flag` as a comma-separated list; all of `choices` when it was not given. @throws `usage.bench` */
export function namesOption<T extends string>(
  { options }: Pick<BenchRun, 'options'>,
  flag: string,
  choices: readonly T[],
): T[] {
  const text = options[flag];
  if (text === undefined) return [...choices];
  return text.split(',').map((name) => {
    const found = choices.find((choice) => choice === name);
    if (found !== undefined) return found;
    throw usageError(`Bad value for --${flag}`, `${choices.join(', ')}, or several separated by commas`, name);
  });
}

/** The one name given to `--flag`. @throws `usage.bench` */
export function nameOption<T extends string>(
  run: Pick<BenchRun, 'options'>,
  flag: string,
  fallback: T,
  choices: readonly T[],
): T {
  const text = run.options[flag] ?? fallback;
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw usageError(`Bad value for --${flag}`, `one of ${choices.join(', ')}`, text);
  return found;
}

/** The whole numbers given to `--flag`, separated by commas. @throws `usage.bench` */
export function integersOption(
  { options }: Pick<BenchRun, 'options'>,
  flag: string,
  fallback: readonly number[],
  [min, max]: readonly [number, number],
): number[] {
  const text = options[flag];
  if (text === undefined) return [...fallback];
  return text.split(',').map((part) => {
    const value = /^\d+$/.test(part) ? Number(part) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw usageError(`Bad value for --${flag}`, `whole numbers from ${min} to ${max}, separated by commas`, part);
  });
}

/** The whole number given to `--flag`. @throws `usage.bench` */
export function integerOption(
  run: Pick<BenchRun, 'options'>,
  flag: string,
  fallback: number,
  range: readonly [number, number],
): number {
  const [value, ...more] = integersOption(run, flag, [fallback], range);
  if (more.length > 0) throw usageError(`Bad value for --${flag}`, 'one whole number', String(run.options[flag]));
  return value!;
}
