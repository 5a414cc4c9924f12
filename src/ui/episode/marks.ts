/** Facts found again in a text by their values, so that what a summary kept or lost can be pointed at. */

/** What became of a fact at a fold. */
export type Fate = 'kept' | 'lost';

export interface MarkedFact {
  readonly name: string;
  readonly value: string;
  readonly fate: Fate;
}

/** A stretch of text; `fact` is null where it is no fact's value. */
export interface Piece {
  readonly text: string;
  readonly fact: MarkedFact | null;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Cuts a text at the values of facts. A value counts only where it is a word of its own: `blue4` is not in `blue42`.
 * Of two values that begin at the same place the longer wins.
 */
export function markFacts(text: string, facts: readonly MarkedFact[]): readonly Piece[] {
  const known = facts.filter(({ value }) => value !== '').sort((a, b) => b.value.length - a.value.length);
  if (known.length === 0) return text === '' ? [] : [{ text, fact: null }];
  const values = known.map(({ value }) => escaped(value)).join('|');
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${values})(?![\\p{L}\\p{N}_])`, 'gu');
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), fact: null });
    pieces.push({ text: match[0], fact: known.find(({ value }) => value === match[0]) ?? null });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), fact: null });
  return pieces;
}
