/** One line of a conformance command against its schema, and what is said when it does not fit. */

import * as v from 'valibot';
import { LabError } from '../core/errors';
import { requireShallow } from '../core/json-depth';

/**
 * One line as JSON of a known shape.
 * @param line its number, from 1
 * @throws `json.too-deep`, `input.bad-json`, `input.bad-shape` naming line and key
 */
export function parseLine<T extends v.GenericSchema>(schema: T, text: string, line: number): v.InferOutput<T> {
  let json: unknown;
  try {
    // A byte-order mark, as some editors put before the first line, is not JSON's.
    json = JSON.parse(line === 1 ? text.replace(/^\uFEFF/, '') : text);
  } catch (cause) {
    const got = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    throw new LabError(
      {
        code: 'input.bad-json',
        what: 'The line is not JSON',
        where: `line ${line}`,
        expected: 'one JSON object',
        got,
        fix: 'Write one complete JSON object per line.',
      },
      { cause },
    );
  }
  requireShallow(json, `line ${line}`);
  // valibot takes an array for an object without keys.
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw badShape(
      line,
      'the whole line',
      'a JSON object',
      Array.isArray(json) ? 'an array' : String(json),
      'Write one JSON object per line.',
    );
  const result = v.safeParse(schema, json);
  if (result.success) return result.output;
  const issue = result.issues[0];
  const path = keyPath(v.getDotPath(issue));
  if (issue.expected === 'never')
    throw badShape(line, path, 'no such key', 'one', 'Remove the key, or correct its name.');
  if (issue.received === 'undefined') throw badShape(line, path, 'the key', 'nothing', 'Add the missing key.');
  throw badShape(line, path, expectation(issue), issue.received, fixes[issue.type] ?? 'Correct the value.');
}

/** What the schema wants, in words; valibot says `<=1`, and nothing at all for its own named checks. */
function expectation({ type, requirement, expected }: v.BaseIssue<unknown>): string {
  const words: Record<string, string> = {
    finite: 'a number in the range of float32',
    integer: 'a whole number',
    max_value: `at most ${requirement}`,
    min_value: `at least ${requirement}`,
    min_length: `at least ${requirement} ${requirement === 1 ? 'element' : 'elements'}`,
    number: 'a number',
    array: 'an array',
    strict_object: 'an object',
  };
  return words[type] ?? (expected ?? 'another value').replace(/^\((.*)\)$/, '$1');
}

/** How to mend a value, by the kind of check it failed. */
const fixes: Readonly<Record<string, string>> = {
  finite: 'Use a smaller number.',
  number: 'Write a JSON number, without quotes.',
  picklist: 'Use one of these values.',
  min_length: 'Add an element.',
  array: 'Write [ ] around the values.',
  strict_object: 'Write { } around the keys.',
};

/** `segments.0.mask.2` → `segments[0].mask[2]`. */
function keyPath(dotted: string | null): string {
  return dotted === null ? 'the whole line' : dotted.replace(/\.(\d+)(?=\.|$)/g, '[$1]');
}

/** The error for a line of another shape. @param key path of the key, such as `segments[0].mask` */
export function badShape(line: number, key: string, expected: string, got: string, fix: string): LabError {
  return new LabError({
    code: 'input.bad-shape',
    what: 'The line does not have the shape this command reads',
    where: `line ${line}, ${key}`,
    expected,
    got,
    fix,
  });
}
