/** Facts in texts: a fact is a short run of words and is restated where exactly that run stands in a summary. */

/** The words of a text. Whatever is not a letter, digit, dot or underscore separates words. */
export function wordsOf(text: string): string[] {
  return text.split(/[^A-Za-z0-9_.]+/).filter(Boolean);
}

/** Whether `fact`'s words stand next to each other, in order, in `words`. */
export function contains(words: readonly string[], fact: readonly string[]): boolean {
  if (fact.length === 0) return false;
  return words.some((_, at) => fact.every((word, i) => words[at + i] === word));
}

/** The facts that a summary restates. Source: factRecall, docs/algorithm.md section 6. */
export function restatedFacts(facts: readonly string[], summary: string): string[] {
  const words = wordsOf(summary);
  return facts.filter((fact) => contains(words, wordsOf(fact)));
}

/** The word after the last `key` in a text, undefined where there is none. */
export function wordAfter(words: readonly string[], key: string): string | undefined {
  const at = words.lastIndexOf(key);
  return at < 0 ? undefined : words[at + 1];
}
