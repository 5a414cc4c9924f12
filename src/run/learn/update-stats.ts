/** Statistics of several optimiser steps as one. */
import type { UpdateStats } from '../../core/algorithm/algorithm';

/** Mean weighted by tokens; 0 without tokens. */
export function weighted(
  all: readonly UpdateStats[],
  value: (s: UpdateStats) => number,
  weight: (s: UpdateStats) => number,
): number {
  const total = all.reduce((n, s) => n + weight(s), 0);
  return total === 0 ? 0 : all.reduce((sum, s) => sum + value(s) * weight(s), 0) / total;
}

/** The steps of an iteration as one: means weighted by tokens; null without a step. */
export function combine(all: readonly UpdateStats[]): UpdateStats | null {
  if (all.length === 0) return null;
  const byPolicy = (value: (s: UpdateStats) => number) => weighted(all, value, (s) => s.policyTokens);
  return {
    loss: byPolicy((s) => s.loss),
    policyLoss: byPolicy((s) => s.policyLoss),
    valueLoss: weighted(
      all,
      (s) => s.valueLoss,
      (s) => s.valueTokens,
    ),
    entropy: byPolicy((s) => s.entropy),
    kl: byPolicy((s) => s.kl),
    clipFraction: byPolicy((s) => s.clipFraction),
    maxRatioError: Math.max(...all.map((s) => s.maxRatioError)),
    gradNorm: byPolicy((s) => s.gradNorm),
    policyTokens: all.reduce((n, s) => n + s.policyTokens, 0),
    valueTokens: all.reduce((n, s) => n + s.valueTokens, 0),
    nonFinite: all.some((s) => s.nonFinite),
  };
}
