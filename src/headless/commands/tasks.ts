import { existsSync } from 'node:fs';
import type { PartialConfig, RunConfig } from '../../core/config/config';
import { encode } from '../../core/tokenizer/tokenizer';
import { createTerminalPool } from '../../env/pool';
import type { Split, TaskInstance } from '../../env/task';
import { families, familiesOf, generateTask, suites } from '../../env/tasks';
import { chanceFloor, measureChance } from '../../run/expert/chance';
import { isPreset, presets, suiteContext } from '../../run/presets/presets';
import { drawTasks } from '../../run/rollout/tasks';
import { build } from '../../run/session/build';
import type { Arguments, Command } from '../command';
import { didYouMean } from '../nearest';
import { parseArgumentConfig, parseSettings, readConfig } from '../runtime';
import { describeTask, reportExpert } from '../tasks-expert';

const names = [...suites, ...families.map((family) => family.name)];
const instanceOptions = ['difficulty', 'seed', 'index', 'split'];

/** One line per family. */
function list(args: Arguments): void {
  for (const { name, suite, summary, minDifficulty, maxDifficulty } of families) {
    const example = { tasks: name, seed: 0, split: 'train', index: 0 } as const;
    const { instruction, commands } = generateTask({ ...example, ...wholeRange });
    args.print({ name, suite, summary, minDifficulty, maxDifficulty, instruction, commands });
  }
}

/** Every difficulty a family has; generateTask clamps it. */
const wholeRange = {
  difficultyMin: Math.min(...families.map((family) => family.minDifficulty)),
  difficultyMax: Math.max(...families.map((family) => family.maxDifficulty)),
};

/** The family or suite named second. @throws usage.missing-argument, usage.bad-value */
function suiteArgument(args: Arguments): RunConfig['suite'] {
  const name = args.required(1, 'family or suite');
  if (names.includes(name)) return name as RunConfig['suite'];
  throw args.usageError('usage.bad-value', 'There is no such task family or suite', {
    expected: names.join(' | '),
    got: name.slice(0, 64),
    hint: didYouMean(name, names),
  });
}

/** The instance that the flags name. */
function instanceArgument(args: Arguments, range: Pick<RunConfig, 'difficultyMin' | 'difficultyMax'>): TaskInstance {
  const tasks = suiteArgument(args);
  const of = familiesOf(tasks);
  const least = Math.min(...of.map((family) => family.minDifficulty));
  const most = Math.max(...of.map((family) => family.maxDifficulty));
  const only = args.text('difficulty') === undefined ? null : args.integer('difficulty', least, least, most);
  return generateTask({
    tasks,
    seed: args.seed(),
    index: args.integer('index', 0),
    split: args.choice<Split>('split', ['train', 'eval'], 'train'),
    difficultyMin: only ?? range.difficultyMin,
    difficultyMax: only ?? range.difficultyMax,
  });
}

function show(args: Arguments): void {
  const task = instanceArgument(args, wholeRange);
  const { instruction, files, data } = task;
  const tokensOf = (text: string) => encode(text).length;
  const inFiles = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, tokensOf(text)]));
  args.print({
    ...describeTask(task),
    files,
    solution: data,
    tokens: { instruction: tokensOf(instruction), files: inFiles },
  });
}

/** The context rules that hold every family, with settings on top. */
function suiteConfig(suite: RunConfig['suite'], changes: PartialConfig): RunConfig {
  return parseArgumentConfig({ ...suiteContext, ...wholeRange, ...changes, suite });
}

async function playExpert(args: Arguments): Promise<void> {
  const suite = suiteArgument(args);
  const preset = args.text('preset');
  const settings = args.texts('set');
  const config =
    preset === undefined
      ? suiteConfig(suite, parseSettings(settings))
      : (await readConfig(preset, [...settings, `suite=${suite}`])).config;
  await reportExpert(args, instanceArgument(args, config), config);
}

async function chance(args: Arguments): Promise<void> {
  const source = args.required(1, 'preset, configuration file, family or suite');
  const settings = args.texts('set');
  if (!names.includes(source) && !isPreset(source) && !existsSync(source))
    throw args.usageError('usage.bad-value', 'There is no such preset, family, suite or file', {
      expected: [...Object.keys(presets), ...names, 'a JSON file'].join(' | '),
      got: source.slice(0, 64),
      hint: didYouMean(source, [...Object.keys(presets), ...names]),
    });
  const config = names.includes(source)
    ? suiteConfig(source as RunConfig['suite'], parseSettings(settings))
    : (await readConfig(source, settings)).config;
  const seed = args.seed();
  const tasks = drawTasks(config, seed, 'eval', 0, args.integer('tasks', 200, 1, 100_000));
  const pool = createTerminalPool({ workers: 0 });
  try {
    const gate = async () => args.signal.throwIfAborted();
    const report = await measureChance(tasks, { config, seed, pool, gate });
    args.print({ source, chanceFloor: chanceFloor(report), ...report, seed, build });
  } finally {
    await pool.close();
  }
}

const actions: Record<string, { options: readonly string[]; run: (args: Arguments) => void | Promise<void> }> = {
  list: { options: [], run: list },
  show: { options: instanceOptions, run: show },
  expert: { options: [...instanceOptions, 'preset', 'set'], run: playExpert },
  chance: { options: ['tasks', 'seed', 'set'], run: chance },
};

const options = {
  difficulty: {
    type: 'string',
    help: 'difficulty of the task (default: drawn from the range of the family or preset)',
  },
  seed: { type: 'string', help: 'seed of the tasks, 0 to 4294967295 (default 0)' },
  index: { type: 'string', help: 'number of the task within its split (default 0)' },
  split: { type: 'string', help: 'train or eval: tasks trained on, or held out (default train)' },
  preset: {
    type: 'string',
    help: 'context rules of this preset or configuration file (default: fit for every family)',
  },
  tasks: { type: 'string', help: 'held-out tasks to play (default 200)' },
  set: { type: 'string', multiple: true, help: 'change one configuration key, e.g. --set window=48' },
} as const satisfies Command['options'];

/** `lab tasks`: the task families, one instance, its scripted expert, and what is solved without memory. */
const tasks: Command = {
  name: 'tasks',
  summary: 'list the task families, show an instance, run its scripted expert, or measure the chance floor',
  usage:
    'tasks [list] | tasks show <family|suite> [--difficulty d] [--seed n] [--index i] [--split train|eval] | ' +
    'tasks expert <family|suite> [the same] [--preset name] [--set key=value]… | ' +
    'tasks chance <preset|config.json|family|suite> [--tasks n] [--seed n] [--set key=value]…',
  positionals: 2,
  options,
  async run(args) {
    const [name = 'list'] = args.positionals;
    if (!Object.hasOwn(actions, name))
      throw args.usageError('usage.bad-value', 'lab tasks has no such action', {
        expected: Object.keys(actions).join(' | '),
        got: name.slice(0, 64),
        hint: didYouMean(name, Object.keys(actions)),
      });
    const action = actions[name]!;
    for (const option of Object.keys(options)) {
      const given = args.text(option) !== undefined || args.texts(option).length > 0;
      if (!given || action.options.includes(option)) continue;
      throw args.usageError('usage.unknown-flag', `lab tasks ${name} has no such flag`, {
        expected: action.options.map((known) => `--${known}`).join(', ') || 'no flag',
        got: `--${option}`,
      });
    }
    if (name === 'list' && args.positionals.length > 1)
      throw args.usageError('usage.extra-argument', 'Too many arguments', {
        expected: 'nothing after list',
        got: JSON.stringify(args.positionals[1]!.slice(0, 64)),
      });
    await action.run(args);
  },
};
export default tasks;
