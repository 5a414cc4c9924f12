/** Experiments whose setups are the values of one number. */
import { configNames, defaultConfig } from '../config/config';
import type { ConfigName } from '../config/config-table';
import type { Experiment, Setup } from './experiment';

/** Setups it takes to make a curve. */
const FEWEST_SETUPS = 3;

/** The number in which setups differ, and each with its value, ascending. */
export interface Sweep {
  readonly key: ConfigName;
  readonly steps: readonly { readonly setup: Setup; readonly value: number }[];
}

/** @returns null unless the setups, three or more, differ in one number alone and each has another value of it */
export function sweepOf({ shared, setups }: Experiment): Sweep | null {
  if (setups.length < FEWEST_SETUPS) return null;
  const configs = setups.map((setup) => ({ setup, config: { ...defaultConfig, ...shared, ...setup.config } }));
  const values = (key: ConfigName) => new Set(configs.map(({ config }) => config[key]));
  const [key, ...others] = configNames.filter((name) => values(name).size > 1);
  if (key === undefined || others.length > 0 || values(key).size < setups.length) return null;
  const steps = configs.flatMap(({ setup, config: { [key]: value } }) =>
    typeof value === 'number' ? [{ setup, value }] : [],
  );
  return steps.length < setups.length ? null : { key, steps: steps.sort((a, b) => a.value - b.value) };
}
