/** Claims cell: what several files of recorded results say on their claims, in one figure. */
import * as v from 'valibot';

/** Files of one figure; each is loaded and decided while one waits. */
const MOST_FILES = 8;

export const claimsSchema = v.strictObject({
  kind: v.literal('claims'),
  /** Names of files in public/results, in the order of the figure; whether they exist is known only when they are asked for. */
  results: v.optional(
    v.pipe(
      v.array(v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected short names like "paper-table"'))),
      v.minLength(1),
      v.maxLength(MOST_FILES),
      v.check((names) => new Set(names).size === names.length, 'expected no name twice'),
    ),
    ['paper-table', 'credit-and-lambda', 'factor-large', 'beyond-the-table'],
  ),
});
export type ClaimsCell = Readonly<v.InferOutput<typeof claimsSchema>>;

export const claimsCell = {
  kind: 'claims',
  label: 'All claims',
  schema: claimsSchema,
  blank: (): ClaimsCell => ({ kind: 'claims', results: [...v.getDefault(claimsSchema.entries.results)] }),
} as const;
