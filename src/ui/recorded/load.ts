/** Recorded runs of this site: which there are, and one of them; checked before anything is drawn. */
import { LabError } from '../../core/errors';
import type { RunEntry, RunResult } from '../../core/recording/run-result';
import type { LabServices } from '../services';
import { parseSiteJson } from '../site-json';

/** Far above any real file: a mirror may serve something else. */
const MAX_CHARS = 4e6;
const INDEX = 'runs';

type FetchResults = LabServices['fetchResults'];

async function readJson(name: string, fetchText: FetchResults): Promise<unknown> {
  const where = `results/${name}.json`;
  return parseSiteJson(await fetchText(name), { what: 'The file', where, code: 'run-result', most: MAX_CHARS });
}

/** @throws LabError results.…, run-result.… naming the first fault */
export async function loadRunIndex(fetchText: FetchResults): Promise<readonly RunEntry[]> {
  const [json, { parseRunIndex }] = await Promise.all([
    readJson(INDEX, fetchText),
    import('../../core/recording/run-result'),
  ]);
  return parseRunIndex(json, `results/${INDEX}.json`);
}

/** @throws LabError as above, also when the file is another run than the index says */
export async function loadRun(entry: RunEntry, fetchText: FetchResults): Promise<RunResult> {
  const where = `results/${entry.name}.json`;
  const [json, { parseRunResult, isRunOf, wholeConfig }] = await Promise.all([
    readJson(entry.name, fetchText),
    import('../../core/recording/run-result'),
  ]);
  const result = parseRunResult(json, where);
  if (!isRunOf(result, wholeConfig(entry.config), entry.seed))
    throw new LabError({
      code: 'run-result.other',
      what: 'The file holds another run than the index says',
      where,
      expected: `seed ${entry.seed} and the configuration in results/${INDEX}.json`,
      got: `seed ${result.seed}, preset ${result.preset ?? 'none'}`,
    });
  return result;
}
