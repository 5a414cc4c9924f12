/** Prose cell: Markdown with formulas between dollar signs. Never raw HTML; the page sanitises what it renders. */
import * as v from 'valibot';
import { limits } from '../limits';

export const proseSchema = v.strictObject({
  kind: v.literal('prose'),
  markdown: v.optional(v.pipe(v.string(), v.maxLength(limits.proseChars)), ''),
});
export type ProseCell = Readonly<v.InferOutput<typeof proseSchema>>;

export const proseCell = {
  kind: 'prose',
  label: 'Text',
  schema: proseSchema,
  blank: (): ProseCell => ({ kind: 'prose', markdown: '' }),
} as const;
