/** "Did you mean …?" */

/** The candidate at edit distance ≤ 2 that keeps at least one letter, or else one that shares its first four letters. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = word.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(3, wanted.length);
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best !== undefined || wanted.length < 4) return best;
  return candidates.find((candidate) => candidate.toLowerCase().startsWith(wanted.slice(0, 4)));
}

/** `Did you mean "x"? ` for the nearest candidate as `show` writes it, or nothing. */
export function didYouMean(
  word: string,
  candidates: readonly string[],
  show: (name: string) => string = (name) => name,
): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : `Did you mean "${show(near)}"? `;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
