/**
 * One rollout as one line of JSON, and back without losing a bit: token ids, masks, log-probs, values, advantages, targets,
 * texts, commands, outputs, rewards. Opens anywhere that reads JSON lines.
 */

import * as v from 'valibot';
import { LabError } from '../errors';
import { requireShallow } from '../json-depth';
import type { Rollout, Segment } from './trajectory';

/** Name and version of the line format, in every line. */
export const ROLLOUT_FORMAT = 'compaction-lab/rollout@1';

const STOPS = ['solved', 'failed', 'turn-limit', 'command-limit', 'window-full', 'resume-too-long'] as const;

/**
 * Formats one rollout, without a line end.
 * @param decode turns the ids of a segment into text for human readers; `parseRolloutLine` ignores the text
 */
export function rolloutLine(rollout: Rollout, decode?: (ids: Uint16Array) => string): string {
  const { segments, ...rest } = rollout;
  const head = JSON.stringify({ format: ROLLOUT_FORMAT, ...rest });
  return `${head.slice(0, -1)},"segments":[${segments.map((segment) => segmentJson(segment, decode)).join(',')}]}`;
}

function segmentJson(segment: Segment, decode: ((ids: Uint16Array) => string) | undefined): string {
  const { kind, contextLength, ids, mask, logp, values, advantages, targets } = segment;
  const text = decode ? `,"text":${JSON.stringify(decode(ids))}` : '';
  return (
    `{"kind":"${kind}","contextLength":${contextLength}${text},"ids":[${ids.join(',')}],"mask":[${mask.join(',')}],` +
    `"logp":${floatsJson(logp)},"values":${floatsJson(values)},"advantages":${floatsJson(advantages)},"targets":${floatsJson(targets)}}`
  );
}

function floatsJson(values: Float32Array): string {
  return `[${Array.from(values, floatJson).join(',')}]`;
}

/** The shortest of 6 to 9 significant digits that is the same float32; 9 always are (IEEE 754). −0 stays −0. */
function floatJson(x: number): string {
  if (x === 0) return Object.is(x, -0) ? '-0' : '0';
  if (!Number.isFinite(x)) return `"${x}"`; // JSON has no NaN and no ∞; a run that met one must still be exportable
  for (const digits of [6, 7, 8]) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return String(short);
  }
  return String(Number(x.toPrecision(9)));
}

// JSON has no NaN, but 1e999 is read as an infinity.
const finite = v.pipe(v.number(), v.finite());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const isList = (input: unknown): input is unknown[] => Array.isArray(input);

/** A list of whole numbers up to `most`, as a typed array. Checked in one loop: lists are long. */
function wholes<T extends Uint8Array | Uint16Array>(most: number, make: (items: number[]) => T) {
  const good = (x: unknown): x is number => typeof x === 'number' && Number.isInteger(x) && x >= 0 && x <= most;
  return v.pipe(
    v.custom<unknown[]>(isList, 'expected a list'),
    v.rawTransform<unknown[], T>(({ dataset, addIssue, NEVER }) => {
      const wrong = dataset.value.findIndex((x) => !good(x));
      if (wrong < 0) return make(dataset.value as number[]);
      addIssue({ expected: `whole numbers from 0 to ${most}`, received: show(dataset.value[wrong], wrong) });
      return NEVER;
    }),
  );
}

/** A list of float32 values. */
const floats = v.pipe(
  v.custom<unknown[]>(isList, 'expected a list'),
  v.rawTransform<unknown[], Float32Array>(({ dataset, addIssue, NEVER }) => {
    const numbers = dataset.value.map((x) => (x === 'NaN' || x === 'Infinity' || x === '-Infinity' ? Number(x) : x));
    const wrong = numbers.findIndex((x) => typeof x !== 'number');
    if (wrong < 0) return Float32Array.from(numbers as number[]);
    addIssue({ expected: 'numbers, "NaN", "Infinity" or "-Infinity"', received: show(dataset.value[wrong], wrong) });
    return NEVER;
  }),
);

function show(value: unknown, index: number): string {
  return `${JSON.stringify(value)?.slice(0, 40)} at index ${index}`;
}

const segmentSchema = v.pipe(
  v.strictObject({
    kind: v.picklist(['execution', 'summary']),
    contextLength: count,
    text: v.optional(v.string()),
    ids: wholes(0xffff, (items) => Uint16Array.from(items)),
    mask: wholes(1, (items) => Uint8Array.from(items)),
    logp: floats,
    values: floats,
    advantages: floats,
    targets: floats,
  }),
  v.check(
    ({ ids, mask, logp, values, advantages, targets }) =>
      [mask, logp, values, advantages, targets].every((list) => list.length === ids.length),
    'expected lists of one length',
  ),
  v.check(({ ids, contextLength }) => contextLength <= ids.length, 'expected contextLength ≤ number of ids'),
  v.transform(({ text: _text, ...segment }): Segment => segment),
);

const rolloutSchema = v.pipe(
  v.strictObject({
    format: v.literal(ROLLOUT_FORMAT),
    id: count,
    split: v.picklist(['train', 'eval']),
    iteration: count,
    family: v.string(),
    difficulty: finite,
    taskIndex: count,
    instruction: v.string(),
    compactionsRequired: v.nullable(count),
    turnLimit: count,
    steps: v.array(
      v.strictObject({
        command: v.string(),
        output: v.string(),
        exitCode: v.pipe(v.number(), v.integer()),
        segment: count,
      }),
    ),
    compactions: v.array(
      v.strictObject({
        summary: v.string(),
        tokensBefore: count,
        tokensAfter: count,
        factsNeeded: count,
        factsKept: count,
      }),
    ),
    stop: v.picklist(STOPS),
    reward: finite,
    solved: v.boolean(),
    fedTokens: count,
    killed: v.boolean(),
    attempt: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    segments: v.array(segmentSchema),
  }),
  v.transform(({ format: _format, ...rollout }): Rollout => rollout),
);

/**
 * Parses one line written by `rolloutLine`.
 * @param where name of the place for error messages, e.g. `trajectories.jsonl line 7`
 * @throws LabError json.too-deep, trajectory.bad-line naming the key, expected and got
 */
export function parseRolloutLine(line: string, where = 'line'): Rollout {
  let input: unknown;
  try {
    input = JSON.parse(line);
  } catch (cause) {
    const got = cause instanceof Error ? cause.message : String(cause);
    throw badLine(where, 'a JSON object', got.slice(0, 120), cause);
  }
  const result = v.safeParse(rolloutSchema, requireShallow(input, where));
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = v.getDotPath(issue);
  const expected =
    issue.expected === 'never' ? 'no such key' : (issue.expected ?? issue.message.replace(/^expected /, ''));
  throw badLine(path ? `${where}, ${path}` : where, expected, issue.received.slice(0, 120));
}

function badLine(where: string, expected: string, got: string, cause?: unknown): LabError {
  return new LabError(
    {
      code: 'trajectory.bad-line',
      what: 'This line is not a rollout',
      where,
      expected,
      got,
      fix: `Use lines of the format ${ROLLOUT_FORMAT}.`,
    },
    { cause },
  );
}
