/** Our engine, tfjs and jax-js on the same work: tokens/s in one process on one device, in turn. */
import type { PolicyEngine } from '../../model/engine';
import { type MeasuredModel, measuredModelNames, measuredModels } from '../../run/measure/models';
import {
  comparePeers,
  openPeer,
  type PeerName,
  type PeerRates,
  type PeerTask,
  peerNames,
  peerTasks,
} from '../../run/measure/peers';
import { integerOption, namesOption } from '../arguments';
import type { Bench } from '../bench';
import { withDevice } from '../device';
import { digits, spreadText } from '../table';

type ByTask<T> = Partial<Record<MeasuredModel, Partial<Record<PeerTask, T>>>>;

/** Median tokens/s by engine. */
function medians({ tokensPerSecond }: PeerRates) {
  return Object.fromEntries(Object.entries(tokensPerSecond).map(([name, s]) => [name, s.median]));
}

const peers: Bench = {
  name: 'peers',
  summary: 'tokens/s of our engine, tfjs and jax-js on the same model, batch and tokens',
  options: {
    model: { help: `${measuredModelNames.join(', ')} (default all)` },
    task: { help: `${peerTasks.join(', ')} (default all)` },
    engine: { help: `${peerNames.join(', ')} (default all); the first is compared with the others` },
    rounds: { help: 'measured rounds (default 5)' },
  },
  run(run) {
    const models = namesOption(run, 'model', measuredModelNames);
    const tasks = namesOption(run, 'task', peerTasks);
    const names = namesOption(run, 'engine', peerNames);
    const rounds = integerOption(run, 'rounds', 5, [1, 1000]);
    return withDevice(async (context, adapter, gpu) => {
      const results: ByTask<PeerRates> = {};
      for (const model of models) {
        const engines: [PeerName, PolicyEngine][] = [];
        for (const name of names) engines.push([name, await openPeer(name, context, measuredModels[model], { gpu })]);
        const ofModel: Partial<Record<PeerTask, PeerRates>> = {};
        results[model] = ofModel;
        for (const task of tasks) {
          const rates = await comparePeers(engines, model, task, rounds);
          ofModel[task] = rates;
          const said = Object.entries(medians(rates)).map(([name, rate]) => `${name} ${digits(rate)}`);
          run.note(`${model} ${task}: ${said.join(', ')} tokens/s`);
        }
        for (const [, engine] of engines) engine.dispose();
      }
      const flat = Object.entries(results).flatMap(([model, byTask]) =>
        Object.entries(byTask).map(([task, rates]) => ({ model, task, rates })),
      );
      const base = names[0]!;
      const json: ByTask<ReturnType<typeof medians>> = {};
      for (const model of models)
        json[model] = Object.fromEntries(Object.entries(results[model]!).map(([task, r]) => [task, medians(r)]));
      return {
        adapter,
        values: { ...json, unit: 'tokens/s', details: results },
        table: [
          ['model', 'task', ...names, ...names.slice(1).map((name) => `${base} / ${name}`)],
          ...flat.map(({ model, task, rates: { tokensPerSecond } }) => [
            model,
            task,
            ...names.map((name) => spreadText(tokensPerSecond[name]!)),
            ...names.slice(1).map((name) => tokensPerSecond[base]!.median / tokensPerSecond[name]!.median),
          ]),
        ],
        remarks: ['tokens/s, median (min–max): tokens of the batch (update), fed and sampled (decode)'],
      };
    });
  },
};
export default peers;
