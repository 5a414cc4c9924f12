/**
 * The one table of configuration keys. The control on the page, the codec of shared links, the command line's `--set`,
 * the validation and the documentation are all derived from it.
 */

import type { ConfigKey } from './config-key';
import { episodeKeys } from './episode-keys';
import { trainingKeys } from './training-keys';

export type { BooleanKey, ChoiceKey, ConfigGroup, ConfigKey, NumberKey } from './config-key';

export const configTable = { ...episodeKeys, ...trainingKeys } as const satisfies Record<string, ConfigKey>;

export type ConfigName = keyof typeof configTable;
