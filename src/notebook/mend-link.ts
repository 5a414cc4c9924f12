/**
 * What mail, chat and text programs do to a link, undone: escapes, line breaks, invisible characters, punctuation and
 * tracking parameters behind it. Every step only guesses; the checksum of the link decides which guess is right.
 */

/** An escaped link may be escaped again by the next program; more than this many times was never meant as a link. */
const ROUNDS = 3;
/** Places where a notebook may begin, e.g. when a link was pasted twice. */
const STARTS = 4;

/** `nb=`, also as `NB=`, without its `=`, or as quoted-printable mail writes it (`nb=3D`); not the `nb` inside a word. */
const START = /(?<![A-Za-z0-9_-])nb(?![A-Za-z_-])(?:=3D(?=\d)|=)?/gi;
const WHOLE = /^\d{1,4}\.[A-Za-z0-9_-]*\.[0-9a-f]{8}/;
/** Blanks, line breaks and what has no width: soft hyphen, zero-width space, byte order mark. */
const INVISIBLE = /[\s\p{Cc}\p{Cf}]+/gu;
/** Dashes that typographers put for `-` or `--`. */
const DASHES = /[\u2010-\u2015\u2212]/g;

/** Whether a fragment was meant as a notebook, however damaged. */
export function meansNotebook(fragment: string): boolean {
  const text = unescaped(fragment);
  return text.search(START) >= 0 || WHOLE.test(text.replace(/^#/, ''));
}

/** @returns what may be the `<version>.<text>.<checksum>` of the link; a handful at most, often one, without repeats */
export function mendedLinks(fragment: string): string[] {
  const text = unescaped(fragment);
  const begins = [...text.matchAll(START)].slice(0, STARTS).map((start) => start.index + start[0].length);
  // The dots and the checksum name a notebook even where `nb=` was lost.
  const rests = (begins.length > 0 ? begins : [0]).map((at) => text.slice(at));
  const links = rests.flatMap((rest) =>
    (rest.search(DASHES) >= 0 ? ['', '-', '--'] : ['']).flatMap((dash) => {
      const letters = rest.replace(DASHES, dash).replace(/[^A-Za-z0-9_.-]/g, '');
      return WHOLE.exec(letters)?.[0] ?? [];
    }),
  );
  return [...new Set(links)];
}

function unescaped(fragment: string): string {
  // Invisible characters go first, too: mail breaks a line in the middle of an escape.
  let text = fragment.replace(INVISIBLE, '');
  for (let round = 0; round < ROUNDS && text.includes('%'); round++)
    text = text
      .replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
        new TextDecoder().decode(Uint8Array.from(run.slice(1).split('%'), (hex) => Number.parseInt(hex, 16))),
      )
      .replace(INVISIBLE, '');
  return text;
}
