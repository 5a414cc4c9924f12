/**
 * JSON from outside may nest as deep as it is long. `JSON.parse` takes that, but whatever then goes through it by calling
 * itself (`JSON.stringify`, a schema) ends at the engine's stack. So every entrance checks the depth first.
 */
import { LabError, type LabErrorParts } from './errors';

/** Of arrays and objects inside each other; our own files have up to about ten. */
export const MAX_JSON_DEPTH = 64;

const isNode = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * @param value untrusted, as parsed @param where the file, link or line in words
 * @param otherwise how this entrance names its faults and mends them
 * @returns the value
 * @throws LabError json.too-deep, unless `otherwise` says another code
 */
export function requireShallow<T>(value: T, where: string, otherwise: Partial<LabErrorParts> = {}): T {
  // Level by level, without calling itself. No sharing, no cycles: it comes out of JSON.
  let level: object[] = isNode(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH)
      throw new LabError({
        code: 'json.too-deep',
        what: 'This JSON nests too deeply',
        where,
        expected: `at most ${MAX_JSON_DEPTH} arrays and objects inside each other`,
        got: 'more',
        fix: 'No file of this project nests like that: use another one.',
        ...otherwise,
      });
    const inner: object[] = [];
    for (const node of level) for (const part of Object.values(node)) if (isNode(part)) inner.push(part);
    level = inner;
  }
  return value;
}
