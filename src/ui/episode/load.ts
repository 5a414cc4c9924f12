/** Recorded episodes of this site: fetched when a player comes into sight, and checked before anything is shown. */

import { LabError } from '../../core/errors';
import { requireShallow } from '../../core/json-depth';
import type { IndexEntry, Recording } from '../../core/recording/recording';

/** Far above any real file: a mirror may serve something else. */
const MAX_CHARS = 2e6;
const INDEX = 'index.json';

/** The text of a file of public/episodes. @throws LabError episodes.missing, episodes.unreachable */
export type FetchEpisodes = (file: string) => Promise<string>;

export const fetchEpisodes: FetchEpisodes = async (file) => {
  const url = new URL(`episodes/${file}`, document.baseURI);
  const response = await fetch(url).catch((cause) => {
    throw new LabError(
      {
        code: 'episodes.unreachable',
        what: 'The recorded episodes could not be loaded',
        where: url.pathname,
        got: String(cause),
        fix: 'Check the connection, then press Retry.',
      },
      { cause },
    );
  });
  // Some static hosts answer everything with their start page.
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && type.includes('json')) return response.text();
  throw new LabError({
    code: 'episodes.missing',
    what: 'This site has no such recorded episode',
    where: `episodes/${file}`,
    expected: 'a JSON file',
    got: response.ok ? type || 'no content type' : `HTTP ${response.status}`,
    fix: 'Press Retry; if it stays so, the site is incomplete.',
  });
};

function json(text: string, where: string): unknown {
  if (text.length > MAX_CHARS)
    throw new LabError({
      code: 'episodes.too-large',
      what: 'The recorded episodes are too large',
      where,
      expected: `at most ${MAX_CHARS} characters`,
      got: String(text.length),
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LabError(
      {
        code: 'episodes.bad',
        what: 'The recorded episodes are not JSON',
        where,
        got: JSON.stringify(text.slice(0, 40)),
      },
      { cause },
    );
  }
  return requireShallow(value, where);
}

/** The recordings there are. @throws LabError episodes.…, recording.… */
export async function loadIndex(fetchText: FetchEpisodes): Promise<readonly IndexEntry[]> {
  const [text, { parseRecordingIndex }] = await Promise.all([
    fetchText(INDEX),
    import('../../core/recording/recording'),
  ]);
  return parseRecordingIndex(json(text, `episodes/${INDEX}`), `episodes/${INDEX}`);
}

/** @throws LabError episodes.…, recording.… naming the first fault */
export async function loadRecording(file: string, fetchText: FetchEpisodes): Promise<Recording> {
  const [text, { parseRecording }] = await Promise.all([fetchText(file), import('../../core/recording/recording')]);
  return parseRecording(json(text, `episodes/${file}`), `episodes/${file}`);
}
