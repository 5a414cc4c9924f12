/** Episode cell: recorded episodes, played side by side, before and after training. The recordings belong to the site. */
import * as v from 'valibot';

export const episodeSchema = v.strictObject({
  kind: v.literal('episode'),
  /** Name of the recording shown first, as in public/episodes/index.json; empty: the first one there. */
  recording: v.optional(
    v.pipe(v.string(), v.regex(/^([a-z][a-z0-9-]{0,39})?$/, 'expected a short name like "three-keys", or nothing')),
    '',
  ),
});
export type EpisodeCell = Readonly<v.InferOutput<typeof episodeSchema>>;

export const episodeCell = {
  kind: 'episode',
  label: 'Episode',
  schema: episodeSchema,
  blank: (): EpisodeCell => ({ kind: 'episode', recording: '' }),
} as const;
