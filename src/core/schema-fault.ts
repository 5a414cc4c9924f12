/** What a schema found wrong, in words: valibot says `<=1`, `Object` and `never`, and nothing at all for its own checks. */
import * as v from 'valibot';

export interface SchemaFault {
  /** Where, from the top: `arms.0.id`; null for the whole. */
  readonly path: string | null;
  readonly expected: string;
  readonly got: string;
}

const words: Readonly<Record<string, (requirement: unknown) => string>> = {
  number: () => 'a number',
  string: () => 'a text',
  boolean: () => 'true or false',
  array: () => 'an array',
  record: () => 'an object',
  strict_object: () => 'an object',
  finite: () => 'a finite number',
  integer: () => 'a whole number',
  safe_integer: () => 'a whole number below 2^53',
  min_value: (requirement) => `at least ${requirement}`,
  max_value: (requirement) => `at most ${requirement}`,
  min_length: (requirement) => `a length of at least ${requirement}`,
  max_length: (requirement) => `a length of at most ${requirement}`,
  iso_timestamp: () => 'a time such as 2026-01-31T12:00:00Z',
};

/** One issue of valibot's in words. */
export function faultOf(issue: v.BaseIssue<unknown>): SchemaFault {
  const path = v.getDotPath(issue);
  const got = issue.received === 'Object' ? 'an object' : issue.received === 'Array' ? 'an array' : issue.received;
  if (issue.expected === 'never') return { path, expected: 'no such key', got: got.slice(0, 80) };
  if (issue.type === 'strict_object' && issue.received === 'undefined')
    return { path, expected: 'the key', got: 'nothing' };
  const expected =
    words[issue.type]?.(issue.requirement) ?? (issue.expected ?? issue.message).replace(/^\((.*)\)$/, '$1');
  return { path, expected, got: got.slice(0, 80) };
}

/** The fault of an array where an object stands: to valibot an array is an object without keys. */
export function faultOfArray(input: unknown): SchemaFault | null {
  return Array.isArray(input) ? { path: null, expected: 'an object', got: 'an array' } : null;
}
