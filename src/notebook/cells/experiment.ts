/** Experiment cell: a run that anyone can repeat, as preset + seed + the keys in which it differs from the preset. */
import * as v from 'valibot';
import { type PartialConfig, parsePartialConfig } from '../../core/config/config';

/** JSON and links have no −0, so a document has none either: decoding an encoded document gives the document. */
const withoutNegativeZero = <T>(value: T): T => (Object.is(value, -0) ? (0 as T) : value);

/** Where inside a configuration an issue is, in valibot's terms; nothing for issues about the whole. */
function pathTo(input: Record<string, unknown>, key: string | undefined): { path?: [v.IssuePathItem] } {
  if (key === undefined || !Object.hasOwn(input, key)) return {};
  return { path: [{ type: 'object', origin: 'value', input, key, value: input[key] }] };
}

/** Checks key by key against the config table. Rules over several keys need the preset and are checked when a run starts. */
const configSchema = v.pipe(
  v.custom<Record<string, unknown>>(
    (input) => typeof input === 'object' && input !== null && !Array.isArray(input),
    'expected an object of configuration keys',
  ),
  v.rawTransform<Record<string, unknown>, PartialConfig>(({ dataset, addIssue, NEVER }) => {
    const { values, issues } = parsePartialConfig(dataset.value);
    for (const { what, where, expected, got } of issues)
      addIssue({ message: what, ...pathTo(dataset.value, where), expected, received: got ?? what });
    if (issues.length > 0) return NEVER;
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withoutNegativeZero(value)]));
  }),
);

export const experimentSchema = v.strictObject({
  kind: v.literal('experiment'),
  /** Name of a preset; whether it exists is known only to the run floor, which says so when the run starts. */
  preset: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected a short name like "quick"')),
    'quick',
  ),
  /** Unsigned 32-bit. */
  seed: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffffffff), v.transform(withoutNegativeZero)),
    1,
  ),
  config: v.optional(configSchema, {}),
});
export type ExperimentCell = Readonly<v.InferOutput<typeof experimentSchema>>;

export const experimentCell = {
  kind: 'experiment',
  label: 'Experiment',
  schema: experimentSchema,
  blank: (): ExperimentCell => ({ kind: 'experiment', preset: 'quick', seed: 1, config: {} }),
} as const;
