/** Recorded episodes of this site: fetched when a player comes into sight, and checked before anything is shown. */
import type { IndexEntry, Recording } from '../../core/recording/recording';
import { fetchSiteJson, parseSiteJson } from '../site-json';

/** Far above any real file: a mirror may serve something else. */
const MAX_CHARS = 2e6;
const INDEX = 'index.json';

/** The text of a file of public/episodes. @throws LabError episodes.missing, episodes.unreachable */
export type FetchEpisodes = (file: string) => Promise<string>;

export const fetchEpisodes: FetchEpisodes = (file) =>
  fetchSiteJson(`episodes/${file}`, {
    code: 'episodes',
    unreachable: 'The recorded episodes could not be loaded',
    missing: 'This site has no such recorded episode',
    expected: 'a JSON file',
    fix: 'Press Retry; if it stays so, the site is incomplete.',
  });

const json = (text: string, where: string) =>
  parseSiteJson(text, { what: 'The file of recorded episodes', where, code: 'episodes', most: MAX_CHARS });

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
