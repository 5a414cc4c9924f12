import { LabError } from '../../core/errors';
import { parseRecording } from '../../core/recording/recording';
import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import { createNodePool } from '../../env/pool-node';
import { familyOf } from '../../env/tasks';
import { presets } from '../../run/presets/presets';
import { shapeOf } from '../../run/presets/pretrain';
import { choose, factsOf, type Pair, rule, shows } from '../../run/recording/choose';
import { recordEpisodes } from '../../run/recording/recording';
import { drawTasks } from '../../run/rollout/tasks';
import { build } from '../../run/session/build';
import { requireFit } from '../../run/session/model-file';
import { createEngine, loadBase } from '../../run/session/session';
import type { Command } from '../command';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { readPolicy } from '../policy-file';
import { baseFromDisk, openMachine, readConfig } from '../runtime';
import { readBytes } from '../system-error';
import { requireReplaceableFile, writeAtomically } from '../targets';

/** `lab record`: the pair of episodes that a page plays, from real rollouts. */
const record: Command = {
  name: 'record',
  summary: 'play held-out tasks with the base and a trained policy, and record one pair of episodes for the page',
  usage:
    'record <preset> --policy file.safetensors --training text [--title text] [--family name | --index i] [--seed N] [--tasks n] --out file.json [--kernels …]',
  positionals: 1,
  options: {
    policy: { type: 'string', help: 'the trained policy: policy.safetensors of a run' },
    training: { type: 'string', help: 'how it was trained, for the reader: the command that did it' },
    title: { type: 'string', help: 'name of the task on the page (default: its family)' },
    family: { type: 'string', help: 'only tasks of this family (default: any of the preset)' },
    index: { type: 'string', help: `this held-out task, whatever happens in it (default: one in which ${rule})` },
    seed: { type: 'string', help: 'seed of the held-out tasks and draws (default 0)' },
    tasks: { type: 'string', help: 'held-out tasks to play with each policy (default 256)' },
    out: { type: 'string', help: 'recording to write; one that is there is replaced' },
    kernels: kernelsOption,
  },
  async run(args) {
    const { config, preset } = await readConfig(args.required(0, 'preset'), []);
    if (preset === null || config.attempts > 1)
      throw args.usageError('usage.bad-value', 'An episode is recorded under a preset, so that the page can train it', {
        expected: Object.keys(presets).join(' | '),
        got: args.required(0, 'preset').slice(0, 64),
      });
    const needed = (name: string) => {
      const text = args.text(name);
      if (text !== undefined && text !== '') return text;
      throw args.usageError('usage.missing-argument', `Missing --${name}`, { expected: `--${name}`, got: 'nothing' });
    };
    const [path, training, out] = [needed('policy'), needed('training'), needed('out')];
    const seed = args.seed();
    const count = args.integer('tasks', 256, 1, 100_000);
    const index = args.given('index') ? args.integer('index', 0, 0, count - 1) : null;
    const family = args.text('family');
    args.requireEffect('family', index === null, 'no --index, which names the task');
    if (family !== undefined) familyOf(family);
    await requireReplaceableFile(out);
    const trained = readPolicy(await readBytes('policy', path), path);
    requireFit(trained.shape, shapeOf(config, VOCABULARY_SIZE), path);
    const base = await loadBase(config, seed, baseFromDisk);
    const request = await readKernels(args);
    const machine = await openMachine(config.engine);
    const pool = await createNodePool({ workers: config.terminalWorkers });
    const gate = async () => args.signal.throwIfAborted();
    try {
      const kernels = await requestedPlan(args, request, machine, base.shape, config);
      const engine = await createEngine(machine, base.shape, config, kernels);
      const play = async (policy: 'base' | 'trained', parameters: Float32Array) => {
        await engine.setParameters('policy', parameters);
        args.note(`${policy} policy: ${count} held-out tasks`);
        return recordEpisodes({ engine, pool, config, seed, gate, tasks: count, policy });
      };
      const left = await play('base', base.parameters);
      const right = await play('trained', trained.parameters);
      engine.dispose();
      const tasks = drawTasks(config, seed, 'eval', 0, count);
      const pairs = tasks.map((task, i): Pair & { task: typeof task } => ({
        task,
        base: left[i]!,
        trained: right[i]!,
      }));
      const eligible = pairs.filter(({ task }) => family === undefined || task.family === family);
      const showing = eligible.filter(shows);
      const chosen = index === null ? choose(eligible) : pairs[index];
      if (!chosen)
        throw new LabError({
          code: 'record.none',
          what: 'No held-out task shows what a recording is for',
          expected: `a task in which ${rule}`,
          got: `none of ${eligible.length}`,
          fix: 'Give more --tasks, another --seed or a better trained policy; or record a task by --index.',
        });
      const { task } = chosen;
      const share = (side: 'base' | 'trained') =>
        `${eligible.filter((pair) => pair[side].success).length} of ${eligible.length}`;
      const which = family === undefined ? 'held-out tasks' : `held-out tasks of the family ${family}`;
      const selection =
        index === null
          ? `task ${task.index}: of ${eligible.length} ${which} there are ${showing.length} in which ${rule}; of these the one that loses it in the earliest summary, and the first such.`
          : `task ${index} was asked for.`;
      const recording = parseRecording(
        {
          version: 1,
          title: args.text('title') ?? task.family,
          task: {
            preset,
            family: task.family,
            seed,
            index: task.index,
            instruction: task.instruction,
            about: familyOf(task.family).summary,
          },
          window: config.window,
          summaryBudget: config.summaryCap,
          facts: factsOf(chosen),
          provenance: {
            command: `lab record ${preset} --policy ${path.split(/[\\/]/).at(-1)} --seed ${seed} --tasks ${count}${family === undefined ? '' : ` --family ${family}`}${index === null ? '' : ` --index ${index}`}`,
            commit: build,
            device: machine.adapter,
            recorded: new Date().toISOString().slice(0, 10),
            training,
            selection: `${selection} Solved by the base policy: ${share('base')}; by the trained one: ${share('trained')}.`,
          },
          episodes: [chosen.base, chosen.trained],
        },
        out,
      );
      await writeAtomically(out, new TextEncoder().encode(`${JSON.stringify(recording, null, 1)}\n`));
      args.print({
        done: true,
        file: out,
        task: task.index,
        family: task.family,
        instruction: task.instruction,
        selection: recording.provenance.selection,
      });
    } finally {
      await pool.close();
      machine.context?.dispose();
    }
  },
};
export default record;
