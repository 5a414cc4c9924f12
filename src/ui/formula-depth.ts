/** How deep a formula nests, before KaTeX sees it: KaTeX calls itself for each group, and a link may hold thousands. */
import { limits } from '../notebook/limits';

const TOKENS = /\\(?:[a-zA-Z]+|[\s\S])|[{}]/g;
const STEPS: Readonly<Record<string, number>> = {
  '{': 1,
  '}': -1,
  '\\begin': 1,
  '\\end': -1,
  '\\left': 1,
  '\\right': -1,
};

/** The most groups, environments and stretched brackets inside each other; what is never closed counts, too. */
export function formulaDepth(text: string): number {
  let depth = 0;
  let most = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    depth = Math.max(0, depth + (STEPS[token] ?? 0));
    most = Math.max(most, depth);
  }
  return most;
}

/** Why a formula is not given to KaTeX; null when it is. */
export function depthFault(text: string): string | null {
  return formulaDepth(text) <= limits.formulaDepth
    ? null
    : `it nests too deeply, at most ${limits.formulaDepth} groups may stand inside each other`;
}
