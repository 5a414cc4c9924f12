/** A decided difference as the page writes it. */
import type { ClaimResult } from '../../core/experiment/verdicts';
import { compact } from '../format';

export const isShare = ({ claim }: Pick<ClaimResult, 'claim'>): boolean =>
  !['summaryTokens', 'compactions', 'turns'].includes(claim.left.outcome);

const signed = (value: number, shown: string): string => (value > 0 ? `+${shown}` : shown.replace('-', '−'));

/** A difference as it is written: points for shares. */
export function difference(decided: Pick<ClaimResult, 'claim'>, value: number): string {
  return signed(value, isShare(decided) ? (100 * value).toFixed(1) : compact(value));
}

/** A mark of the axis: a round number, written without zeros behind the point. */
export const mark = (decided: Pick<ClaimResult, 'claim'>, value: number): string =>
  signed(value, compact(isShare(decided) ? 100 * value : value));

/** What a difference is counted in. */
export function unitOf(decided: Pick<ClaimResult, 'claim'>): string {
  const { outcome } = decided.claim.left;
  return isShare(decided) ? 'points' : outcome === 'summaryTokens' ? 'tokens' : outcome;
}

export const pValue = (value: number | null): string =>
  value === null ? '–' : value < 0.001 ? '< 0.001' : value.toFixed(3);
