/** Lines of facts hidden among noise words, and the decoy files that make random reading useless. */
import type { RandomStream } from '../../core/rng';
import { noisePool } from '../../core/tokenizer/vocabulary';

/** Words of one file; with its newline a file is LINE_WORDS + 1 tokens. */
export const LINE_WORDS = 11;

/** Sorts before every pool name and is longer than an observation, so that `cat *` shows nothing else. */
export const ABOUT = 'about';
const ABOUT_WORDS = 24;

/** One line: the groups in order, with noise words between them, `LINE_WORDS` words in all (more if the groups need it). */
export function noisyLine(random: RandomStream, groups: readonly string[]): string {
  const used = groups.join(' ').split(' ').length;
  const gaps = Array.from({ length: Math.max(0, LINE_WORDS - used) }, () => random.integer(groups.length + 1));
  const words: string[] = [];
  for (let g = 0; g <= groups.length; g++) {
    for (const gap of gaps) if (gap === g) words.push(random.pick(noisePool));
    const group = groups[g];
    if (group !== undefined) words.push(group);
  }
  return `${words.join(' ')}\n`;
}

export function aboutFile(random: RandomStream): string {
  return `${Array.from({ length: ABOUT_WORDS }, () => random.pick(noisePool)).join(' ')}\n`;
}
