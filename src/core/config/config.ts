/** Parsing and checking of run configurations against the config table. */

import { LabError, type LabErrorParts } from '../errors';
import { requireShallow } from '../json-depth';
import { type ConfigKey, type ConfigName, configTable } from './config-table';

type ValueOf<K> = K extends { type: 'choice'; options: readonly (infer T)[] }
  ? T
  : K extends { type: 'boolean' }
    ? boolean
    : number;

/** A complete, valid configuration. */
export type RunConfig = { readonly [N in ConfigName]: ValueOf<(typeof configTable)[N]> };
/** Only the keys that differ from something. */
export type PartialConfig = Partial<RunConfig>;

export const configNames = Object.keys(configTable) as ConfigName[];

/** The table's defaults: the paper's settings where the paper states them. */
export const defaultConfig: RunConfig = Object.freeze(
  Object.fromEntries(configNames.map((name) => [name, configTable[name].default])),
) as RunConfig;

/** Tokens of the summary request q_sum. */
export const SUMMARY_REQUEST_TOKENS = 1;

/** Tokens of the request for a note between two attempts. */
export const NOTE_REQUEST_TOKENS = 1;

/** Smallest safe T_comp: one more action and observation, then the request and the summary, must fit. */
export function smallestReserve(config: Pick<RunConfig, 'actionCap' | 'observationCap' | 'summaryCap'>): number {
  return config.actionCap + config.observationCap + SUMMARY_REQUEST_TOKENS + config.summaryCap;
}

/** T_comp of a configuration: `compactThreshold`, or the smallest safe reserve when that is 0. */
export function compactThreshold(config: RunConfig): number {
  return config.compactThreshold === 0 ? smallestReserve(config) : config.compactThreshold;
}

/** Number of learned positions: twice the window, so that every arm can be evaluated with a 2× window. */
export function positionsOf(config: Pick<RunConfig, 'window'>): number {
  return 2 * config.window;
}

function issue(code: string, name: string, what: string, expected: string, got: unknown, fix: string): LabErrorParts {
  return {
    code,
    what,
    where: name,
    expected,
    // To JSON an infinity is null.
    got: typeof got === 'number' ? String(got) : String(JSON.stringify(requireShallow(got, name))),
    fix,
  };
}

/** Checks one value; a string as it comes from a command line or a link is converted where that is unambiguous. */
function checkValue(name: ConfigName, raw: unknown): { value: unknown } | { issue: LabErrorParts } {
  const key: ConfigKey = configTable[name];
  const bad = (expected: string) => ({
    issue: issue(
      'config.bad-value',
      name,
      `Configuration key ${name} has a bad value`,
      expected,
      raw,
      `See: lab config ${name}`,
    ),
  });
  switch (key.type) {
    case 'choice': {
      const expected = `one of ${key.options.join(', ')}`;
      const text = typeof raw === 'boolean' ? String(raw) : raw;
      return typeof text === 'string' && key.options.includes(text) ? { value: text } : bad(expected);
    }
    case 'boolean':
      if (typeof raw === 'boolean') return { value: raw };
      return raw === 'true' || raw === 'false' ? { value: raw === 'true' } : bad('true or false');
    default: {
      const expected = `${key.type === 'integer' ? 'a whole number' : 'a number'} from ${key.min} to ${key.max}`;
      const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
      if (typeof value !== 'number' || !Number.isFinite(value)) return bad(expected);
      if (value < key.min || value > key.max) return bad(expected);
      if (key.type === 'integer' && !Number.isInteger(value)) return bad(expected);
      return { value };
    }
  }
}

function closest(name: string): string | undefined {
  const wanted = name.toLowerCase();
  return configNames.find((n) => n.toLowerCase() === wanted || n.toLowerCase().startsWith(wanted.slice(0, 4)));
}

/**
 * Checks an untrusted object key by key.
 * @returns the valid part, and one issue per unknown key or bad value
 * @throws LabError json.too-deep
 */
export function parsePartialConfig(input: unknown): { values: PartialConfig; issues: LabErrorParts[] } {
  const values: Record<string, unknown> = {};
  const issues: LabErrorParts[] = [];
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    issues.push(
      issue(
        'config.not-an-object',
        'config',
        'A configuration must be an object',
        'a JSON object',
        input,
        'Write {"key": value, …}.',
      ),
    );
    return { values: {}, issues };
  }
  for (const [name, raw] of Object.entries(input)) {
    if (!Object.hasOwn(configTable, name)) {
      const near = closest(name);
      issues.push({
        code: 'config.unknown-key',
        what: `Unknown configuration key ${JSON.stringify(name.slice(0, 64))}`,
        where: 'config',
        expected: near ? `a key such as ${near}` : 'a key of the config table',
        fix: 'List them with: lab config',
      });
      continue;
    }
    const checked = checkValue(name as ConfigName, raw);
    if ('issue' in checked) issues.push(checked.issue);
    else values[name] = checked.value;
  }
  return { values: values as PartialConfig, issues };
}

/** Rules that involve several keys. */
export function checkRules(config: RunConfig): LabErrorParts[] {
  const issues: LabErrorParts[] = [];
  const rule = (ok: boolean, name: ConfigName, what: string, expected: string, fix: string) => {
    if (!ok) issues.push(issue('config.rule', name, what, expected, config[name], fix));
  };
  const reserve = smallestReserve(config);
  const threshold = compactThreshold(config);
  rule(
    threshold >= reserve,
    'compactThreshold',
    'The compaction threshold does not hold the reserve',
    `0 or at least ${reserve} (actionCap + observationCap + summary request + summaryCap)`,
    'Raise compactThreshold, or lower a cap.',
  );
  rule(
    config.window >= threshold + 8,
    'window',
    'The window is too small for the reserve',
    `at least ${threshold + 8} tokens (reserve ${threshold} + 8 for the context)`,
    'Raise window, or lower actionCap, observationCap or summaryCap.',
  );
  rule(
    config.difficultyMin <= config.difficultyMax,
    'difficultyMin',
    'The shortest task is longer than the longest',
    `at most difficultyMax = ${config.difficultyMax}`,
    'Lower difficultyMin or raise difficultyMax.',
  );
  rule(
    config.episodes % config.groupSize === 0,
    'groupSize',
    'Groups do not divide the episodes',
    `a divisor of episodes = ${config.episodes}`,
    'Change groupSize or episodes.',
  );
  rule(
    config.advantage !== 'outcome' || config.groupSize > 1,
    'groupSize',
    'The outcome advantage compares rollouts of one task instance',
    'at least 2',
    'Set groupSize, for example 8.',
  );
  rule(
    config.advantage !== 'outcome' || config.attempts === 1,
    'attempts',
    'The outcome advantage compares rollouts that begin alike; later attempts begin with a note, and only after failures',
    '1 with the outcome advantage',
    'Set attempts to 1, or choose another advantage.',
  );
  const groups = config.episodes / config.groupSize;
  rule(
    config.minibatches <= (config.advantage === 'outcome' ? groups : config.episodes),
    'minibatches',
    'There are more minibatches than rollouts (or groups) to fill them',
    `at most ${config.advantage === 'outcome' ? groups : config.episodes}`,
    'Lower minibatches or raise episodes.',
  );
  rule(
    config.dModel % (4 * config.heads) === 0,
    'dModel',
    'The width does not divide into heads',
    `a multiple of 4 × heads = ${4 * config.heads}`,
    'Change dModel or heads.',
  );
  rule(config.mlp % 4 === 0, 'mlp', 'The MLP width does not fit the kernels', 'a multiple of 4', 'Round mlp.');
  return issues;
}

/**
 * Parses a whole configuration: defaults, then the input.
 * @throws LabError naming the first issue, with the number of further ones
 */
export function parseConfig(input: unknown, base: RunConfig = defaultConfig): RunConfig {
  const { values, issues } = parsePartialConfig(input);
  const config = { ...base, ...values } as RunConfig;
  const all = [...issues, ...(issues.length > 0 ? [] : checkRules(config))];
  const first = all[0];
  if (first)
    throw new LabError(all.length === 1 ? first : { ...first, what: `${first.what} (and ${all.length - 1} more)` });
  return config;
}

/** The keys in which `config` differs from `base`, in table order. */
export function nonDefault(config: RunConfig, base: RunConfig = defaultConfig): PartialConfig {
  return Object.fromEntries(
    configNames.filter((n) => config[n] !== base[n]).map((n) => [n, config[n]]),
  ) as PartialConfig;
}

/** Parses a seed: an unsigned 32-bit integer. */
export function parseSeed(raw: unknown): number {
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 0xffffffff)
    throw new LabError({
      code: 'config.bad-seed',
      what: 'Bad seed',
      where: 'seed',
      expected: 'a whole number from 0 to 4294967295',
      got: String(raw).slice(0, 64),
      fix: 'Choose another seed.',
    });
  return value;
}
