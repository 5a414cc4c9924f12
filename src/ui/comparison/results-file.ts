/** Result files of this site: fetched when a comparison comes into sight, once each, and checked. */
import { fetchSiteJson, parseSiteJson } from '../site-json';
import type { Comparison } from './comparison';

/** Far above any real file: results may come from a mirror that serves something else. */
const MAX_CHARS = 32e6;

/** The text of a file of public/results, by name without its ending. @throws LabError results.missing, results.unreachable */
export type FetchResults = (name: string) => Promise<string>;

export const fetchResults: FetchResults = (name) =>
  fetchSiteJson(`results/${name}.json`, {
    code: 'results',
    unreachable: 'The results could not be loaded',
    missing: 'This site has no such results',
    expected: 'a JSON file written by "lab collect"',
    fix: 'Choose the name of a file in results/, or make it: lab experiment, then lab collect.',
  });

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
  const json = parseSiteJson(text, { what: 'The results file', where, code: 'results', most: MAX_CHARS });
  return new Comparison(parseResults(json, where));
}
