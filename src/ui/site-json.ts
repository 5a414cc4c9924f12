/** JSON files that the page loads from its own site: a mirror may serve something else, so none is trusted. */
import { LabError } from '../core/errors';
import { requireShallow } from '../core/json-depth';

export interface SiteFile {
  /** The file in words, for errors: `The results file`. */
  readonly what: string;
  /** Where it lies, for errors. */
  readonly where: string;
  /** Codes of errors begin with it. */
  readonly code: string;
  /** Most characters: far above any real file, so that a wrong one cannot fill the page. */
  readonly most: number;
}

/** @throws LabError `<code>.too-large`, `<code>.bad`, json.too-deep */
export function parseSiteJson(text: string, { what, where, code, most }: SiteFile): unknown {
  if (text.length > most)
    throw new LabError({
      code: `${code}.too-large`,
      what: `${what} is too large`,
      where,
      expected: `at most ${most} characters`,
      got: String(text.length),
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new LabError(
      { code: `${code}.bad`, what: `${what} is not JSON`, where, got: JSON.stringify(text.slice(0, 40)) },
      { cause },
    );
  }
  return requireShallow(value, where);
}

export interface SiteFetch {
  /** Codes of errors begin with it. */
  readonly code: string;
  /** What is said where no answer comes, and where the site has no such file. */
  readonly unreachable: string;
  readonly missing: string;
  /** What should have been there, and what to do about its absence. */
  readonly expected: string;
  readonly fix: string;
}

/**
 * The text of a JSON file of this site.
 * @param path from the site's folder, e.g. `results/quick.json`
 * @throws LabError `<code>.unreachable`, `<code>.missing`
 */
export async function fetchSiteJson(path: string, words: SiteFetch): Promise<string> {
  const { code, unreachable, missing, expected, fix } = words;
  const url = new URL(path, document.baseURI);
  const response = await fetch(url).catch((cause) => {
    throw new LabError(
      {
        code: `${code}.unreachable`,
        what: unreachable,
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
  const got = response.ok ? type || 'no content type' : `HTTP ${response.status}`;
  throw new LabError({ code: `${code}.missing`, what: missing, where: path, expected, got, fix });
}
