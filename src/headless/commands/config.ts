import { configNames } from '../../core/config';
import { type ConfigKey, type ConfigName, configTable } from '../../core/config-table';
import { LabError } from '../../core/errors';
import { presets } from '../../run/presets';
import type { Command } from '../command';

/** `lab config`: the configuration keys and the presets, as JSON lines. */
const config: Command = {
  name: 'config',
  summary: 'print the configuration keys (or one of them) and the presets',
  usage: 'config [key]',
  positionals: 1,
  async run(args) {
    const [only] = args.positionals;
    if (only !== undefined && !Object.hasOwn(configTable, only))
      throw new LabError({
        code: 'config.unknown-key',
        what: 'Unknown configuration key',
        where: only.slice(0, 64),
        expected: 'a key of the config table',
        fix: 'List them with: lab config',
      });
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
