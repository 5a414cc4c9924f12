import { join } from 'node:path';
import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import { createNodePool } from '../../env/pool-node';
import { initialParameters } from '../../model/initialise';
import { recipeConfig, shapeOf, pretrain as warmStart } from '../../run/presets/pretrain';
import { type Recipe, recipes } from '../../run/presets/recipes';
import { build } from '../../run/session/build';
import { writeModel } from '../../run/session/model-file';
import { baseName, createEngine } from '../../run/session/session';
import { evaluate } from '../../run/trainer/evaluate';
import type { Command } from '../command';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { didYouMean } from '../nearest';
import { basesFolder, openMachine } from '../runtime';
import { requireReplaceableFile, writeAtomically } from '../targets';

const pretrain: Command = {
  name: 'pretrain',
  summary: 'warm-start a base policy by cloning scripted demonstrations with lossy summaries',
  usage: 'pretrain <recipe> [--warm-start k] [--seed N] [--steps n] [--out file] [--eval episodes] [--kernels …]',
  positionals: 1,
  options: {
    'warm-start': { type: 'string', help: 'number of the independent copy, 1 to 16 (default 1): seed and file name' },
    seed: { type: 'string', help: 'seed of initialisation, tasks and demonstrations (default: the warm start)' },
    steps: { type: 'string', help: 'optimiser steps (default: the recipe’s)' },
    out: {
      type: 'string',
      help: `checkpoint to write (default ${basesFolder}/<recipe>.safetensors, <recipe>-<k> for a later warm start)`,
    },
    eval: { type: 'string', help: 'held-out episodes to evaluate at the end (default 512)' },
    kernels: kernelsOption,
  },
  async run(args) {
    const name = args.required(0, 'recipe');
    if (!Object.hasOwn(recipes, name))
      throw args.usageError('usage.bad-value', 'There is no such recipe', {
        expected: Object.keys(recipes).join(' | '),
        got: name.slice(0, 64),
        hint: didYouMean(name, Object.keys(recipes)),
      });
    const known: Recipe = recipes[name as keyof typeof recipes];
    const recipe: Recipe = { ...known, steps: args.integer('steps', known.steps, 1, 1_000_000) };
    const copy = args.integer('warm-start', 1, 1, 16);
    const named = args.given('seed') && args.given('out');
    args.requireEffect('warm-start', !named, 'no --seed and --out together, which say what it would');
    const seed = args.seed(copy);
    const episodes = args.integer('eval', 512, 1, 100_000);
    const config = recipeConfig(recipe);
    const file = args.path('out') ?? join(basesFolder, `${baseName(name, copy)}.safetensors`);
    await requireReplaceableFile(file);
    const shape = shapeOf(config, VOCABULARY_SIZE);
    const request = await readKernels(args);
    const machine = await openMachine(config.engine);
    const { adapter } = machine;
    const pool = await createNodePool({ workers: config.terminalWorkers });
    const startedAt = performance.now();
    const gate = async () => args.signal.throwIfAborted();
    try {
      const kernels = await requestedPlan(args, request, machine, shape, config);
      const engine = await createEngine(machine, shape, config, kernels);
      await engine.setParameters('policy', initialParameters(shape, seed, { copyInit: recipe.copyInit }));
      await warmStart({
        engine,
        pool,
        recipe,
        seed,
        gate,
        onStep: (step) => {
          if (step.step % 25 !== 0 && step.step !== step.steps) return;
          const elapsed = performance.now() - startedAt;
          const left = Math.round(((elapsed / step.step) * (step.steps - step.step)) / 1000);
          args.print({ ...step, elapsedMs: Math.round(elapsed) });
          args.note(`step ${step.step}/${step.steps}, loss ${step.loss.toFixed(3)}, about ${left} s left`);
        },
      });
      const evalComp = await evaluate('comp', { engine, pool, config, seed, episodes, gate });
      const bytes = writeModel(shape, await engine.getParameters('policy'), {
        recipe: JSON.stringify(recipe),
        command: `lab pretrain ${name}${copy > 1 ? ` --warm-start ${copy}` : ''} --seed ${seed} --steps ${recipe.steps}`,
        seed: String(seed),
        build,
        adapter,
        ...(kernels && { kernels: JSON.stringify(kernels) }),
        baseSuccess: String(evalComp.success),
      });
      await writeAtomically(file, bytes);
      args.print({
        done: true,
        file,
        sizeBytes: bytes.byteLength,
        evalComp,
        elapsedMs: Math.round(performance.now() - startedAt),
        adapter,
        build,
        seed,
      });
      engine.dispose();
    } finally {
      await pool.close();
      machine.context?.dispose();
    }
  },
};
export default pretrain;
