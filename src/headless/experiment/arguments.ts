/** What the commands about experiments share: their arguments. */
import type { CellFilter } from '../../core/experiment/cells';
import type { Experiment } from '../../core/experiment/experiment';
import { parseExperiment } from '../../core/experiment/schema';
import type { Arguments } from '../command';
import { didYouMean } from '../nearest';
import { readJson } from '../runtime';
import { shown } from '../system-error';

/** What an experiment file holds. */
export const EXPERIMENT_FILE = 'an experiment: a JSON object with setups, arms and claims';

/** An experiment file. @throws LabError file.…, experiment.…, config.… */
export async function readExperiment(path: string): Promise<Experiment> {
  return parseExperiment(await readJson('experiment file', path, EXPERIMENT_FILE), shown(path));
}

/** Ids `a,b` of an option; undefined when it is not given. @throws usage.bad-value for none, or naming the first that is not there */
function idsOf(args: Arguments, option: string, items: readonly { readonly id: string }[]): string[] | undefined {
  const ids = args.text(option)?.split(',').filter(Boolean);
  const known = items.map(({ id }) => id);
  const bad = (got: string, hint = '') =>
    args.usageError('usage.bad-value', `Bad value for --${option}`, { expected: known.join(' | '), got, hint });
  if (ids?.length === 0) throw bad('no name');
  const unknown = ids?.find((id) => !known.includes(id));
  if (unknown === undefined) return ids;
  throw bad(JSON.stringify(unknown.slice(0, 64)), didYouMean(unknown, known));
}

function wholeNumbers(args: Arguments, option: string, pattern: RegExp, expected: string): number[] | undefined {
  const text = args.text(option);
  if (text === undefined) return undefined;
  const found = pattern.exec(text);
  if (found) return found.slice(1).filter(Boolean).map(Number);
  throw args.usageError('usage.bad-value', `Bad value for --${option}`, { expected, got: JSON.stringify(text) });
}

/** `--seeds`, `--arms`, `--setups`. @throws usage.bad-value */
export function filterOf(args: Arguments, experiment: Experiment): CellFilter {
  const expected = `a or a..b, from 1 to ${experiment.seeds}`;
  const range = wholeNumbers(args, 'seeds', /^(\d{1,4})(?:\.\.(\d{1,4}))?$/, expected);
  const [first = 1, last = first] = range ?? [1, experiment.seeds];
  if (first < 1 || last < first || last > experiment.seeds)
    throw args.usageError('usage.bad-value', 'Bad value for --seeds', { expected, got: args.text('seeds') ?? '' });
  return {
    seeds: [first, last],
    arms: idsOf(args, 'arms', experiment.arms),
    setups: idsOf(args, 'setups', experiment.setups),
  };
}

/** `--shard i/n`. @throws usage.bad-value */
export function shardOption(args: Arguments): readonly [index: number, of: number] {
  const expected = 'i/n with 1 ≤ i ≤ n ≤ 1000';
  const [index = 1, of = 1] = wholeNumbers(args, 'shard', /^(\d{1,4})\/(\d{1,4})$/, expected) ?? [];
  if (index >= 1 && index <= of && of <= 1000) return [index, of];
  throw args.usageError('usage.bad-value', 'Bad value for --shard', { expected, got: args.text('shard') ?? '' });
}
