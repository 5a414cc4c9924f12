import { VOCABULARY_SIZE } from '../../core/tokenizer';
import { createNodePool } from '../../env/pool-node';
import { build } from '../../run/build';
import { evaluate } from '../../run/evaluate';
import { requireFit } from '../../run/model-file';
import { shapeOf } from '../../run/pretrain';
import { createEngine, loadBase } from '../../run/session';
import type { Command } from '../command';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { readPolicy } from '../policy-file';
import { baseFromDisk, openMachine, readConfig } from '../runtime';
import { readBytes } from '../system-error';

const evaluateCommand: Command = {
  name: 'eval',
  summary: 'success of a checkpoint on held-out tasks, compaction on and off',
  usage:
    'eval <preset|config.json> --policy file.safetensors [--seed N] [--episodes n] [--set key=value]… [--kernels …]',
  positionals: 1,
  options: {
    policy: { type: 'string', help: 'policy to evaluate: a base, or policy.safetensors of a run' },
    seed: { type: 'string', help: 'seed of the held-out tasks and draws (default 0)' },
    episodes: { type: 'string', help: 'episodes per mode (default: the configuration’s finalEvalEpisodes)' },
    set: { type: 'string', multiple: true, help: 'change one configuration key' },
    kernels: kernelsOption,
  },
  async run(args) {
    const { config } = await readConfig(args.required(0, 'preset or configuration file'), args.texts('set'));
    const path = args.text('policy');
    if (path === undefined) throw args.usageError('usage.missing-argument', 'Missing --policy', { expected: 'a file' });
    const seed = args.seed();
    const episodes = args.integer('episodes', config.finalEvalEpisodes, 1, 1_000_000);
    const model = readPolicy(await readBytes('checkpoint', path), path);
    requireFit(model.shape, shapeOf(config, VOCABULARY_SIZE), path);
    const request = await readKernels(args);
    const machine = await openMachine(config.engine);
    const { adapter } = machine;
    const pool = await createNodePool({ workers: config.terminalWorkers });
    try {
      const kernels = await requestedPlan(args, request, machine, model.shape, config);
      const engine = await createEngine(machine, model.shape, config, kernels);
      await engine.setParameters('policy', model.parameters);
      if (config.trainSummary === 'frozen')
        await engine.setParameters('writer', (await loadBase(config, seed, baseFromDisk)).parameters);
      const gate = async () => args.signal.throwIfAborted();
      const options = { engine, pool, config, seed, episodes, gate };
      const evalComp = await evaluate('comp', options);
      const evalSingle = await evaluate('single', options);
      args.print({
        evalComp: evalComp.success,
        evalSingle: evalSingle.success,
        evalCompDetail: evalComp,
        evalSingleDetail: evalSingle,
        policy: path,
        seed,
        adapter,
        kernels,
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
