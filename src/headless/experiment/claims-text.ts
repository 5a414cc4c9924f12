/** What an experiment says on its claims, as text: the paired difference in each setup, and the verdict. */
import type { ExperimentResults, Outcome } from '../../core/experiment/experiment';
import { kindOf, kindTitles, verdictText } from '../../core/experiment/verdict-words';
import { type ClaimResult, EQUIVALENCE_MARGIN } from '../../core/experiment/verdicts';
import { signFlipNote } from '../../core/statistics/tests';
import { aligned, percent, signed } from './text-columns';

/** Units of outcomes that are no shares. */
const units: Partial<Record<Outcome, string>> = { summaryTokens: 'tokens', compactions: 'compactions', turns: 'turns' };

const UNIT_WIDTH = Math.max(...Object.values(units).map((unit) => unit.length));

const probability = (p: number | null) => (p === null ? '–' : p < 0.001 ? '<0.001' : p.toFixed(3));

/** Names of the columns; the first is the setup, the last the verdict. */
const head = ['setup', 'difference', '', '95 % interval', 'n', 'p', 'Holm p', 'r', 'verdict'];

function row(decided: ClaimResult, title: string) {
  const { claim, mean, interval, n, signFlip, adjustedP, correlation } = decided;
  const unit = units[claim.left.outcome];
  const shown = (value: number) => signed(unit === undefined ? percent(value) : value.toFixed(2));
  return [
    `  ${title}`,
    shown(mean!), // there is one wherever there are pairs
    (unit ?? 'points').padEnd(UNIT_WIDTH),
    interval === null ? '–' : `[${shown(interval.low)}, ${shown(interval.high)}]`,
    String(n),
    probability(signFlip?.p ?? null),
    probability(adjustedP),
    correlation === null ? '–' : correlation.toFixed(2).replace('-', '−'),
    verdictText(decided),
  ];
}

/**
 * Every claim with a line for each setup in which both sides have a seed; other setups that have begun are named in one line.
 * @param decided what `decideClaims` gives
 * @returns nothing where there are no claims
 */
export function claimsText({ experiment, cells }: ExperimentResults, decided: readonly ClaimResult[]): string {
  const { setups, claims } = experiment;
  if (claims.length === 0) return '';
  const begun = new Set(cells.map(({ setup }) => setup));
  const titleOf = (id: string) => setups.find((setup) => setup.id === id)?.title ?? id;
  const paired = decided.filter(({ n }) => n > 0);
  const [names, ...rows] = aligned([head, ...paired.map((result) => row(result, titleOf(result.setup)))], 1);
  // The verdict begins where its name does: as the last column it needs no padding.
  const line = (text: string) => text.replace(/ +((?:not )?\S+(?: \([^)]+\))?)$/, '  $1');
  const sections = claims.map((claim) => {
    const own = paired.flatMap((result, i) => (result.claim.id === claim.id ? [line(rows[i]!)] : []));
    const open = decided.filter((result) => result.claim.id === claim.id && result.n === 0 && begun.has(result.setup));
    if (open.length > 0)
      own.push(`  no seed has both sides yet: ${open.map(({ setup }) => titleOf(setup)).join('; ')}`);
    return `\n${[`${kindTitles[kindOf(claim)]}: ${claim.text}`, ...own].join('\n')}\n`;
  });
  return `Claims and questions: mean of left − right over the n seeds that have both. The verdict is that of the interval,
whatever p is; below three pairs it stays open.
p: sign-flip test (${signFlipNote}); Holm p: adjusted over the claims of the setup; r: correlation of left with right over seeds;
A claim of the paper is reproduced, not reproduced or undecided; a question of ours is answered yes, no or undecided.
small: the 90 % interval lies within ±${100 * EQUIVALENCE_MARGIN} points.

${line(names!)}
${sections.join('')}`;
}
