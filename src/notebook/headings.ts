/** What the contents of a notebook list: texts that begin with a heading, and the figure of all claims. */
import type { Cell } from './cells';

const LONGEST = 80;

/** The heading that a cell begins with, as plain text; null of a cell without one. */
export function headingOf(cell: Cell): string | null {
  if (cell.kind === 'claims') return 'Every claim in one figure';
  if (cell.kind !== 'prose') return null;
  const [, words] = /^\s{0,3}#{1,3}[ \t]+(\S[^\n]*)/.exec(cell.markdown.trimStart()) ?? [];
  if (words === undefined) return null;
  const plain = words
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`$]/g, '')
    .replace(/[ \t]+#*[ \t]*$/, '');
  return plain.slice(0, LONGEST) || null;
}
