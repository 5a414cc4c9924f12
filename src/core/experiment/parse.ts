/** What the parsers of experiment files and of results share. */
import * as v from 'valibot';
import { type PartialConfig, parsePartialConfig } from '../config/config';
import { LabError } from '../errors';
import { faultOf, faultOfArray } from '../schema-fault';

/** Most settings, arms, … of one list: an experiment file may come from anywhere. */
const MAX_LIST = 100;

/** Names of arms, setups, claims and experiments: parts of file names. Two hyphens in a row separate them there. */
export const kebab = v.pipe(
  v.string(),
  v.maxLength(40),
  v.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a kebab-case name of at most 40 characters'),
);
export const sentence = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
export const prose = v.pipe(v.string(), v.maxLength(10_000));
export const finite = v.pipe(v.number(), v.finite());
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export const between = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
export const list = <T>(item: v.GenericSchema<unknown, T>, least = 0, most = MAX_LIST) =>
  v.pipe(v.array(item), v.minLength(least), v.maxLength(most));

/** An object of these keys and no others. */
export const exactly = <const E extends v.ObjectEntries>(entries: E) =>
  v.strictObject(entries, (issue) =>
    isUnknownKey(issue) ? `no other keys than ${Object.keys(entries).join(', ')}` : issue.message,
  );

/** Whether a key is there that should not be; valibot expects `never` of it, which says little. */
function isUnknownKey({ type, expected }: v.BaseIssue<unknown>): boolean {
  return type === 'strict_object' && expected === 'never';
}

/** Settings by key, checked against the config table; the first fault is named. */
export const settings = v.pipe(
  v.unknown(),
  v.rawTransform<unknown, PartialConfig>(({ dataset, addIssue, NEVER }) => {
    const { values, issues } = parsePartialConfig(dataset.value);
    const [first] = issues;
    if (!first) return values;
    const { what, where = 'config', expected = 'a configuration', got, fix = '' } = first;
    addIssue({ message: fix, expected, received: got === undefined ? what : `${where} = ${got}` });
    return NEVER;
  }),
);

/** A LabError about one place of an experiment or of its results. */
export function fault(
  code: string,
  what: string,
  where: string,
  detail: { expected: string; got?: string; fix?: string },
) {
  return new LabError({ code, what, where, ...detail });
}

/** Actions of the schemas that have words for what they expect. */
const worded: ReadonlySet<string> = new Set(['regex', 'not_value']);

/**
 * @param what the fault in words, for anything but settings
 * @param fix how to mend it, for anything but settings
 * @param where the file, for the error
 * @throws LabError `code` naming the path of the first fault
 */
export function parseWith<T>(
  schema: v.GenericSchema<unknown, T>,
  input: unknown,
  { code, what, where, fix }: { code: string; what: string; where: string; fix: string },
): T {
  const result = v.safeParse(schema, input);
  const array = faultOfArray(input);
  if (result.success && !array) return result.output;
  const issue = result.issues![0];
  const { path, expected, got } = array ?? faultOf(issue);
  const hasWords = !array && (worded.has(issue.type) || isUnknownKey(issue));
  throw new LabError({
    code,
    what,
    where: path ? `${where}, ${path.slice(0, 200)}` : where,
    expected: hasWords ? issue.message : expected,
    got,
    fix: issue?.type === 'raw_transform' ? issue.message : fix, // that of settings says what mends them
  });
}
