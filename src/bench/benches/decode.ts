/** Sampled tokens per second of each decode path, and how the cost of a token grows with its context. */
import type { DecodePathName } from '../../model/webgpu/decode-path';
import { type DecodeCosts, decodeCosts } from '../../run/measure/decode-cost';
import { type MeasuredModel, measuredModelNames, measuredModels } from '../../run/measure/models';
import { integerOption, integersOption, namesOption } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { digits, spreadText } from '../table';

const paths: readonly DecodePathName[] = ['subgroup', 'lane', 'workgroup', 'layered'];
/** One workgroup per job takes minutes on a software adapter, so it is measured when asked for. */
const usualPaths: readonly DecodePathName[] = ['subgroup', 'lane', 'layered'];
const CONTEXTS = [16, 64, 128, 256];

interface Result extends DecodeCosts {
  readonly model: MeasuredModel;
  readonly environments: number;
  readonly path: DecodePathName;
}

const decode: Bench = {
  name: 'decode',
  summary: 'sampled tokens/s by model, environments, path and context',
  options: {
    model: { help: `${measuredModelNames.join(', ')} (default all)` },
    path: { help: `${paths.join(', ')} (default ${usualPaths.join(', ')}; those that can hold the model)` },
    environments: { help: 'numbers of environments (default 64,256)' },
    rounds: { help: 'measured calls at each context (default 5)' },
  },
  run(run) {
    const models = namesOption(run, 'model', measuredModelNames);
    const chosen = run.options.path === undefined ? usualPaths : namesOption(run, 'path', paths);
    const counts = integersOption(run, 'environments', [64, 256], [1, 4096]);
    const rounds = integerOption(run, 'rounds', 5, [1, 1000]);
    return withDevice(async (context, adapter) => {
      const results: Result[] = [];
      for (const model of models)
        for (const environments of counts)
          for (const path of chosen) {
            const options = { path, environments, contexts: CONTEXTS, rounds };
            const costs = await decodeCosts(context, measuredModels[model], options);
            if (!costs) continue;
            run.note(`${model} ${environments} ${path}: growth ${digits(costs.growth.ratio)} of the FLOPs'`);
            results.push({ model, environments, path, ...costs });
          }
      return {
        adapter,
        values: { unit: 'sampled tokens/s', results },
        table: [
          ['model', 'environments', 'path', ...CONTEXTS.map((c) => `context ${c}`), 'time ×', 'FLOPs ×', 'ratio'],
          ...results.map(({ model, environments, path, costs, growth }) => [
            model,
            `${environments}`,
            path,
            ...costs.map((cost) => spreadText(cost.tokensPerSecond)),
            growth.time,
            growth.flops,
            growth.ratio,
          ]),
        ],
        remarks: [
          'tokens/s, median (min–max); time × and FLOPs ×: of a token, last context over first (src/run/measure/flops.ts)',
        ],
      };
    });
  },
};
export default decode;
