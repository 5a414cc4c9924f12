/** The reward that learning sees, where it is another than success (docs/algorithm.md section 9). */
import type { RunConfig } from '../../core/config/config';
import { factRecall, summaryTokens } from '../../core/metrics/metrics';
import type { Rollout } from '../../core/trajectory/trajectory';

/**
 * R' = R − `summaryPrice` · sampled summary tokens + `recallReward` · facts kept / facts needed, over the whole rollout; the
 * last term is 0 where no fact was needed. It takes the place of the terminal reward R everywhere in learning.
 */
export function learningReward(rollout: Rollout, config: Pick<RunConfig, 'summaryPrice' | 'recallReward'>): number {
  const { summaryPrice, recallReward } = config;
  const price = summaryPrice === 0 ? 0 : summaryPrice * summaryTokens(rollout);
  const recall = recallReward === 0 ? 0 : recallReward * (factRecall([rollout]) ?? 0);
  return rollout.reward - price + recall;
}
