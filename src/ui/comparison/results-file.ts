/** Result files of this site: fetched when a comparison comes into sight, once each, and checked. */

import { LabError } from '../../core/errors';
import { requireShallow } from '../../core/json-depth';
import type { Comparison } from './comparison';

/** Far above any real file: results may come from a mirror that serves something else. */
const MAX_CHARS = 32e6;

/** The text of a file of public/results, by name without its ending. @throws LabError results.missing, results.unreachable */
export type FetchResults = (name: string) => Promise<string>;

export const fetchResults: FetchResults = async (name) => {
  const url = new URL(`results/${name}.json`, document.baseURI);
  const response = await fetch(url).catch((cause) => {
    throw new LabError(
      {
        code: 'results.unreachable',
        what: 'The results could not be loaded',
        where: url.pathname,
        got: String(cause),
        fix: 'Check the connection, then try again.',
      },
      { cause },
    );
  });
  // Some static hosts answer everything with their start page.
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && type.includes('json')) return response.text();
  throw new LabError({
    code: 'results.missing',
    what: 'This site has no such results',
    where: `results/${name}.json`,
    expected: 'a JSON file written by "lab collect"',
    got: response.ok ? type || 'no content type' : `HTTP ${response.status}`,
    fix: 'Choose the name of a file in results/, or make it: lab experiment, then lab collect.',
  });
};

/** What was loaded, by where from: the cells of a notebook show the same files. */
const loaded = new WeakMap<FetchResults, Map<string, Promise<Comparison>>>();

/**
 * Each file is fetched, checked and decided once; a failure is forgotten, so that one can try again.
 * @throws LabError results.…, experiment.…, config.… naming the first fault
 */
export function loadComparison(name: string, fetchText: FetchResults): Promise<Comparison> {
  const known = loaded.get(fetchText) ?? new Map<string, Promise<Comparison>>();
  loaded.set(fetchText, known);
  const promise = known.get(name) ?? readComparison(name, fetchText);
  known.set(name, promise);
  promise.catch(() => known.delete(name));
  return promise;
}

async function readComparison(name: string, fetchText: FetchResults): Promise<Comparison> {
  const where = `results/${name}.json`;
  const [text, { parseResults }, { Comparison }] = await Promise.all([
    fetchText(name),
    import('../../core/experiment/result'),
    import('./comparison'),
  ]);
  if (text.length > MAX_CHARS)
    throw new LabError({
      code: 'results.too-large',
      what: 'The results file is too large',
      where,
      expected: `at most ${MAX_CHARS} characters`,
      got: String(text.length),
    });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new LabError(
      { code: 'results.bad', what: 'The results are not JSON', where, got: JSON.stringify(text.slice(0, 40)) },
      { cause },
    );
  }
  return new Comparison(parseResults(requireShallow(json, where), where));
}
