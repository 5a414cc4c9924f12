/** Contents cell: the headings of the notebook, each a way to its cell. */
import * as v from 'valibot';

export const contentsSchema = v.strictObject({ kind: v.literal('contents') });
export type ContentsCell = Readonly<v.InferOutput<typeof contentsSchema>>;

export const contentsCell = {
  kind: 'contents',
  label: 'Contents',
  schema: contentsSchema,
  blank: (): ContentsCell => ({ kind: 'contents' }),
} as const;
