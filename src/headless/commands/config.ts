import { configNames } from '../../core/config/config';
import { type ConfigKey, type ConfigName, configTable } from '../../core/config/config-table';
import { presets } from '../../run/presets/presets';
import type { Command } from '../command';
import { unknownKey } from '../runtime';

/** `lab config`: the configuration keys and the presets, as JSON lines. */
const config: Command = {
  name: 'config',
  summary: 'print the configuration keys (or one of them) and the presets',
  usage: 'config [key]',
  positionals: 1,
  async run(args) {
    const [only] = args.positionals;
    if (only !== undefined && !Object.hasOwn(configTable, only)) throw unknownKey(only, 'lab config');
    const names = only === undefined ? configNames : [only as ConfigName];
    for (const name of names) {
      const key: ConfigKey = configTable[name];
      args.print({ key: name, ...key });
    }
    if (only === undefined)
      for (const [name, preset] of Object.entries(presets)) args.print({ preset: name, ...preset });
  },
};
export default config;
