import type { RunConfig } from '../../core/config/config';
import { LabError } from '../../core/errors';
import { type EvalMode, evalModes } from '../../core/experiment/experiment';
import type { EvalSummary } from '../../core/metrics/records';
import { currentShell, parseShellVersion } from '../../core/shell-version';
import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import { createNodePool } from '../../env/pool-node';
import { shellPool } from '../../env/shell-pool';
import { shapeOf } from '../../run/presets/pretrain';
import { writesNotes } from '../../run/rollout/retry';
import { build } from '../../run/session/build';
import { type ModelFile, requireFit } from '../../run/session/model-file';
import { createEngine, loadBase } from '../../run/session/session';
import { evaluate } from '../../run/trainer/evaluate';
import type { Arguments, Command } from '../command';
import { configInput } from '../file-help';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { didYouMean } from '../nearest';
import { readPolicy } from '../policy-file';
import { baseFromDisk, openMachine, readConfig } from '../runtime';
import { readBytes, shown } from '../system-error';

/** What a mode is called in the output, as in that of `lab run`. */
const keys: Readonly<Record<EvalMode, string>> = { comp: 'evalComp', single: 'evalSingle', long: 'evalLong' };

/** `--modes a,b`, in the order given; all when it is not. @throws usage.bad-value */
function modesOf(args: Arguments): readonly EvalMode[] {
  const text = args.text('modes');
  if (text === undefined) return ['comp', 'single', 'long'];
  const modes = new Set<EvalMode>();
  for (const name of text.split(',')) {
    const mode = evalModes.find((known) => known === name);
    if (mode === undefined)
      throw args.usageError('usage.bad-value', 'Bad value for --modes', {
        expected: 'comp, single and long, with commas between them',
        got: JSON.stringify(name.slice(0, 64)),
        hint: didYouMean(name, evalModes),
      });
    modes.add(mode);
  }
  return [...modes];
}

/** A policy file whose shape the configuration asks for. */
async function fittingPolicy(path: string, config: RunConfig): Promise<ModelFile> {
  const model = readPolicy(await readBytes('checkpoint', path), path);
  requireFit(model.shape, shapeOf(config, VOCABULARY_SIZE), path);
  return model;
}

/** One engine holds both. @throws model.writer */
function requireSamePositions(model: ModelFile, writer: ModelFile, path: string): void {
  const { positions } = model.shape;
  if (writer.shape.positions === positions) return;
  throw new LabError({
    code: 'model.writer',
    what: 'The writer has another number of positions than the policy',
    where: `${shown(path)}: positions`,
    expected: String(positions),
    got: String(writer.shape.positions),
    fix: 'Use a writer that comes from a base of the same window.',
  });
}

const evaluateCommand: Command = {
  name: 'eval',
  summary: 'success of a checkpoint on held-out tasks: compaction on, one window, twice the window',
  usage:
    'eval <preset|config.json> --policy file.safetensors [--writer file.safetensors] [--modes comp,single,long] [--seed N] [--episodes n] [--shell 1|2] [--set key=value]… [--kernels …]',
  positionals: 1,
  options: {
    policy: { type: 'string', help: 'policy to evaluate: a base, or policy.safetensors of a run' },
    writer: { type: 'string', help: 'policy that writes the summaries in place of the evaluated one' },
    modes: {
      type: 'string',
      help: 'comp (compaction on), single (one window), long (compaction off, twice the window); default all three',
    },
    seed: { type: 'string', help: 'seed of the held-out tasks and draws (default 0)' },
    episodes: { type: 'string', help: 'episodes per mode (default: the configuration’s finalEvalEpisodes)' },
    shell: { type: 'string', help: 'version of the terminal, as a run records it (default: the last)' },
    set: { type: 'string', multiple: true, help: 'change one configuration key' },
    kernels: kernelsOption,
  },
  input: configInput,
  async run(args) {
    const { config } = await readConfig(args.required(0, 'preset or configuration file'), args.texts('set'));
    const path = args.path('policy');
    if (path === undefined) throw args.usageError('usage.missing-argument', 'Missing --policy', { expected: 'a file' });
    const seed = args.seed();
    const episodes = args.integer('episodes', config.finalEvalEpisodes, 1, 1_000_000);
    const shell = parseShellVersion(args.integer('shell', currentShell, 1, currentShell), '--shell');
    const modes = modesOf(args);
    const writes = modes.includes('comp') || writesNotes(config);
    args.requireEffect('writer', writes, 'comp among --modes: in the others nothing is summarised');
    const model = await fittingPolicy(path, config);
    const writerPath = args.path('writer');
    let writer = config.trainSummary === 'frozen' ? (await loadBase(config, seed, baseFromDisk)).parameters : null;
    if (writerPath !== undefined) {
      const other = await fittingPolicy(writerPath, config);
      requireSamePositions(model, other, writerPath);
      writer = other.parameters;
    }
    const request = await readKernels(args);
    const machine = await openMachine(config.engine);
    const { adapter } = machine;
    const pool = shellPool(await createNodePool({ workers: config.terminalWorkers }), shell);
    try {
      const kernels = await requestedPlan(args, request, machine, model.shape, config);
      const engine = await createEngine(machine, model.shape, config, kernels);
      await engine.setParameters('policy', model.parameters);
      if (writer) await engine.setParameters('writer', writer);
      const gate = async () => args.signal.throwIfAborted();
      const summaryRole = writer ? 'writer' : 'policy';
      const required = new Map<number, number>();
      const evaluation: [EvalMode, EvalSummary][] = [];
      for (const mode of modes) {
        const how = { engine, pool, config, seed, episodes, gate, required, summaryRole } as const;
        evaluation.push([mode, await evaluate(mode, how)]);
      }
      args.print({
        ...Object.fromEntries(evaluation.map(([mode, { success }]) => [keys[mode], success])),
        ...Object.fromEntries(evaluation.map(([mode, summary]) => [`${keys[mode]}Detail`, summary])),
        policy: path,
        ...(writerPath !== undefined && { writer: writerPath }),
        seed,
        adapter,
        kernels,
        shell,
        build,
      });
      engine.dispose();
    } finally {
      await pool.close();
      machine.context?.dispose();
    }
  },
};
export default evaluateCommand;
