/** Summaries for demonstrations: what the base policy is cloned from. */
import type { RandomStream } from '../core/rng';
import { encode } from '../core/tokenizer/tokenizer';
import { noisePool } from '../core/tokenizer/vocabulary';

export interface SummaryOptions {
  /** Probability that a fact is kept, each on its own. */
  readonly keep: number;
  /** Probability that a lost fact leaves a junk word behind. */
  readonly junkForLost?: number;
  /** 0 to this many more junk words, uniform, at random places. */
  readonly junkMax?: number;
  /** Facts keep the order they are given in. */
  readonly ordered?: boolean;
  /** Most tokens of the text, the stop token not counted; the rest is cut off. */
  readonly maxTokens?: number;
}

/**
 * A summary as a careless writer leaves it: facts in random order, some lost, junk in between. `keep: 1` and no junk is
 * the perfect summary in random order.
 * The base decides everything that follows: a perfect writer leaves nothing to learn.
 */
export function lossySummary(facts: readonly string[], random: RandomStream, options: SummaryOptions): string {
  const { keep, junkForLost = 0.5, junkMax = 0, maxTokens = Number.POSITIVE_INFINITY } = options;
  const parts: string[] = [];
  for (const fact of options.ordered ? facts : random.shuffle(facts)) {
    if (random.uniform() < keep) parts.push(fact);
    else if (random.uniform() < junkForLost) parts.push(random.pick(noisePool));
  }
  if (junkMax > 0) {
    for (let n = random.integer(junkMax + 1); n > 0; n--) {
      parts.splice(random.integer(parts.length + 1), 0, random.pick(noisePool));
    }
  }
  const words = parts.join(' ').split(' ').filter(Boolean);
  while (words.length > 0 && encode(words.join(' ')).length > maxTokens) words.pop();
  return words.join(' ');
}
