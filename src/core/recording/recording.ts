/** Recordings of a pair of episodes on the same task: one by the base policy, one by the trained. The files of public/episodes. */
import * as v from 'valibot';
import { LabError } from '../errors';

/** Far above any real recording, so that a wrong file cannot fill the page. */
const text = (most = 4000) => v.pipe(v.string(), v.maxLength(most));
const word = () => v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const tokens = () => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000));
const names = () => v.pipe(v.array(word()), v.maxLength(32));
/** Tokens in the context after the frame. */
const context = tokens();

export const frameSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('instruction'), text: text(), context }),
  v.strictObject({ kind: v.literal('command'), text: text(), context }),
  v.strictObject({ kind: v.literal('output'), text: text(), context }),
  /** The context of `before` tokens is replaced by one of `after`; `kept` and `lost` name facts. */
  v.strictObject({
    kind: v.literal('fold'),
    summary: text(),
    before: tokens(),
    after: tokens(),
    kept: names(),
    lost: names(),
  }),
  v.strictObject({ kind: v.literal('end'), text: text(), success: v.boolean(), context }),
]);
export type Frame = v.InferOutput<typeof frameSchema>;

const episodeSchema = (policy: 'base' | 'trained') =>
  v.strictObject({
    policy: v.literal(policy),
    success: v.boolean(),
    reward: v.number(),
    stop: word(),
    frames: v.pipe(v.array(frameSchema), v.minLength(1), v.maxLength(500)),
  });

export const recordingSchema = v.pipe(
  v.strictObject({
    version: v.literal(1),
    title: word(),
    task: v.strictObject({
      preset: word(),
      family: word(),
      seed: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 32 - 1)),
      /** Number of the held-out task of that seed. */
      index: v.optional(tokens()),
      instruction: text(),
      /** What the agent has to do, for who watches; the agent sees the instruction only. */
      about: v.optional(text()),
    }),
    /** Tokens the policy can see at once. */
    window: v.pipe(tokens(), v.minValue(1)),
    summaryBudget: v.optional(tokens()),
    /** What the task's ground truth says must survive a fold. */
    facts: v.pipe(v.array(v.strictObject({ name: word(), value: word() })), v.maxLength(32)),
    provenance: v.strictObject({
      command: text(),
      commit: word(),
      device: word(),
      recorded: word(),
      training: text(),
      /** How this task was chosen among those that were played. */
      selection: v.optional(text()),
    }),
    episodes: v.strictTuple([episodeSchema('base'), episodeSchema('trained')]),
  }),
  v.check(({ facts, episodes }) => {
    const known = new Set(facts.map(({ name }) => name));
    const folds = episodes.flatMap(({ frames }) => frames).filter((frame) => frame.kind === 'fold');
    return folds.every(({ kept, lost }) => [...kept, ...lost].every((name) => known.has(name)));
  }, 'expected folds to name facts of the recording only'),
  v.check(
    ({ episodes }) =>
      episodes.every(({ success, frames }) => {
        const last = frames.at(-1);
        return last?.kind === 'end' && last.success === success;
      }),
    'expected each episode to end with its outcome',
  ),
);
export type Recording = v.InferOutput<typeof recordingSchema>;
export type RecordedEpisode = Recording['episodes'][number];

const indexSchema = v.pipe(
  v.array(
    v.strictObject({
      name: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected a short name like "three-keys"')),
      title: word(),
      file: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]{0,59}\.json$/, 'expected a file name like "three-keys.json"')),
    }),
  ),
  v.minLength(1),
  v.maxLength(20),
);
export type IndexEntry = v.InferOutput<typeof indexSchema>[number];

function parse<T>(schema: v.GenericSchema<unknown, T>, input: unknown, what: string, where: string): T {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = v.getDotPath(issue);
  throw new LabError({
    code: 'recording.invalid',
    what,
    where: path ? `${where}: ${path}` : where,
    expected: issue.expected ?? issue.message.replace(/^expected /, ''),
    got: issue.received.slice(0, 80),
    fix: 'Record the episodes again with this version.',
  });
}

/** @throws LabError recording.invalid naming the first fault */
export const parseRecording = (input: unknown, where: string): Recording =>
  parse(recordingSchema, input, 'This is not a valid recording of episodes', where);

/** The recordings of public/episodes/index.json. @throws LabError recording.invalid */
export const parseRecordingIndex = (input: unknown, where: string): readonly IndexEntry[] =>
  parse(indexSchema, input, 'This is not a valid index of recordings', where);
