/** What a configuration key is, and how the table writes one down. */

interface KeyBase {
  /** Which group of controls the key belongs to. */
  readonly group: ConfigGroup;
  /** Short human label. */
  readonly label: string;
  /** One or two sentences: what it does, unit, source. */
  readonly help: string;
}
export interface NumberKey extends KeyBase {
  readonly type: 'integer' | 'number';
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly unit?: string;
}
export interface BooleanKey extends KeyBase {
  readonly type: 'boolean';
  readonly default: boolean;
}
export interface ChoiceKey<T extends string = string> extends KeyBase {
  readonly type: 'choice';
  readonly default: T;
  readonly options: readonly T[];
  /** How options are shown; an option without a name is shown as it is written. */
  readonly names?: Readonly<Partial<Record<T, string>>>;
}
export type ConfigKey = NumberKey | BooleanKey | ChoiceKey;
export type ConfigGroup =
  | 'task'
  | 'context'
  | 'model'
  | 'rollout'
  | 'credit'
  | 'loss'
  | 'optimiser'
  | 'evaluation'
  | 'engine';

const numeric =
  (type: NumberKey['type']) =>
  (
    group: ConfigGroup,
    label: string,
    value: number,
    min: number,
    max: number,
    help: string,
    unit?: string,
  ): NumberKey => ({ type, group, label, default: value, min, max, help, unit });
export const integer = numeric('integer');
export const number = numeric('number');
export const boolean = (group: ConfigGroup, label: string, value: boolean, help: string): BooleanKey => ({
  type: 'boolean',
  group,
  label,
  default: value,
  help,
});
export const choice = <const T extends readonly string[]>(
  group: ConfigGroup,
  label: string,
  options: T,
  value: NoInfer<T[number]>,
  help: string,
  names?: Readonly<Partial<Record<NoInfer<T[number]>, string>>>,
): ChoiceKey<T[number]> => ({ type: 'choice', group, label, options, default: value, help, names });
