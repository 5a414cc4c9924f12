/** Comparison cell: the recorded results of an experiment, beside the paper's own, and any of its arms to run again. */
import * as v from 'valibot';

export const comparisonSchema = v.strictObject({
  kind: v.literal('comparison'),
  /** Name of a file in public/results; whether it exists is known only when it is asked for. */
  results: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected a short name like "paper-table"')),
    'paper-table',
  ),
  /** Whether only the title shows until one asks for the tables. */
  folded: v.optional(v.boolean(), false),
});
export type ComparisonCell = Readonly<v.InferOutput<typeof comparisonSchema>>;

export const comparisonCell = {
  kind: 'comparison',
  label: 'Comparison',
  schema: comparisonSchema,
  blank: (): ComparisonCell => ({ kind: 'comparison', results: 'paper-table', folded: false }),
} as const;
