/** Which parameters a cell shows first, and how a configuration is put together from preset and changes. */
import { checkRules, configNames, defaultConfig, type PartialConfig, type RunConfig } from '../core/config/config';
import {
  type ChoiceKey,
  type ConfigGroup,
  type ConfigKey,
  type ConfigName,
  configTable,
} from '../core/config/config-table';
import type { LabErrorParts } from '../core/errors';
import type { ExperimentCell } from '../notebook/cells';
import type { PresetInfo } from './services';

/** The questions a visitor comes with: how small is the window, how long the summary, what is trained, how is it credited. */
export const mainParameters: readonly ConfigName[] = [
  'window',
  'summaryCap',
  'compaction',
  'trainSummary',
  'advantage',
  'lossNorm',
  'episodes',
  'iterations',
];

export const groupTitles: Readonly<Record<ConfigGroup, string>> = {
  task: 'Tasks',
  context: 'Context and compaction',
  model: 'Model',
  rollout: 'Rollout',
  credit: 'Credit',
  loss: 'Loss',
  optimiser: 'Optimiser',
  evaluation: 'Evaluation',
  engine: 'Engine',
};

/** Every key, in the table's order, by group. */
export const parameterGroups: readonly (readonly [ConfigGroup, readonly ConfigName[]])[] = (
  Object.keys(groupTitles) as ConfigGroup[]
).map((group) => [group, configNames.filter((name) => configTable[name].group === group)]);

/** The preset's full configuration: the table's defaults, then the preset. */
export function presetConfig(preset: PresetInfo | undefined): RunConfig {
  return { ...defaultConfig, ...preset?.config } as RunConfig;
}

/** What a cell runs. */
export function cellConfig(cell: ExperimentCell, preset: PresetInfo | undefined): RunConfig {
  return { ...presetConfig(preset), ...cell.config } as RunConfig;
}

/** The cell with one key set; a value equal to the preset's is not kept, so that links stay short. */
export function withParameter(
  cell: ExperimentCell,
  preset: PresetInfo | undefined,
  name: ConfigName,
  value: RunConfig[ConfigName],
): ExperimentCell {
  const { [name]: _, ...rest } = cell.config;
  const config: PartialConfig = presetConfig(preset)[name] === value ? rest : { ...rest, [name]: value };
  return { ...cell, config };
}

/** Why the configuration cannot run, if it cannot. */
export function configIssues(config: RunConfig): readonly LabErrorParts[] {
  return checkRules(config);
}

/** Whether two configurations describe the same run. */
export function sameConfig(a: RunConfig, b: RunConfig): boolean {
  return configNames.every((name) => a[name] === b[name]);
}

/** A value as text. */
export function valueText(name: ConfigName, value: RunConfig[ConfigName]): string {
  const key: ConfigKey = configTable[name];
  if (key.type === 'boolean') return value ? 'on' : 'off';
  if (key.type === 'choice') return optionText(key, String(value));
  return key.unit ? `${value} ${key.unit}` : String(value);
}

/** An option as it is shown. */
export const optionText = (key: ChoiceKey, option: string): string => key.names?.[option] ?? option;

/** Fired (bubbling) by a field of a cell whenever what is typed into it becomes unusable or usable again. */
export interface FieldValidity {
  readonly label: string;
  /** What is wrong, as a sentence; empty when nothing is. */
  readonly problem: string;
}

/** Tells the cell around a field whether the field can be used. */
export function announceValidity(field: HTMLElement, detail: FieldValidity): void {
  field.dispatchEvent(new CustomEvent<FieldValidity>('validity', { detail, bubbles: true, composed: true }));
}
