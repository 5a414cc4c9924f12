/** Bench cell: measures the graphics adapter of whoever reads. What it measured belongs to that machine, not to the notebook. */
import * as v from 'valibot';

export const benchSchema = v.strictObject({
  kind: v.literal('bench'),
  /** Measures the larger model as well (d = 128, 4 layers), which takes much longer. */
  large: v.optional(v.boolean(), false),
});
export type BenchCell = Readonly<v.InferOutput<typeof benchSchema>>;

export const benchCell = {
  kind: 'bench',
  label: 'Bench',
  schema: benchSchema,
  blank: (): BenchCell => ({ kind: 'bench', large: false }),
} as const;
