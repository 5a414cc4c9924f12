import { VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import { dawnGpu } from '../../gpu/dawn';
import { acquireDevice } from '../../gpu/device';
import { shapeOf } from '../../run/presets/pretrain';
import { keptReports, measuredChoice } from '../../run/session/kernel-plan';
import type { Command } from '../command';
import { measuring } from '../kernels-option';
import { readConfig } from '../runtime';

/** `lab device`: the adapter that every other command would use, as JSON, and the measured choices of its kernels. */
const device: Command = {
  name: 'device',
  summary: 'print the graphics adapter, its features and limits, and the kernels measured on it',
  usage: 'device [preset|config.json] [--fresh] [--set key=value]…',
  positionals: 1,
  options: {
    fresh: { type: 'boolean', help: 'measure the kernels of the preset’s model again' },
    set: { type: 'string', multiple: true, help: 'change one configuration key, e.g. --set dModel=64' },
  },
  async run(args) {
    const [source] = args.positionals;
    const fresh = args.flag('fresh');
    if (source === undefined && (fresh || args.given('set')))
      throw args.usageError('usage.missing-argument', '--fresh and --set need a model', { expected: 'a preset' });
    const chosen = source === undefined ? null : (await readConfig(source, args.texts('set'))).config;
    const context = await acquireDevice(await dawnGpu());
    try {
      const options = measuring(args, fresh);
      const kernels = chosen
        ? [await measuredChoice(context, shapeOf(chosen, VOCABULARY_SIZE), options)]
        : await keptReports(context.adapter, options);
      args.print({ ...context.adapter, kernels });
    } finally {
      context.dispose();
    }
  },
};
export default device;
