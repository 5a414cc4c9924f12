/** The words for what a comparison found: a claim of the paper is reproduced or not, a question of ours is answered yes or no. */
import type { Claim } from './experiment';

/** Of left − right. `larger`, `smaller`: sure of the direction. `equivalent`: as good as equal. Else `unresolved`. */
export type Finding = 'larger' | 'smaller' | 'equivalent' | 'unresolved';

/** Who says it: the paper, or nobody yet. */
export type ClaimKind = 'paper' | 'question';

export const verdictsOfKind = {
  paper: ['reproduced', 'not reproduced', 'undecided'],
  question: ['yes', 'no', 'undecided'],
} as const satisfies Readonly<Record<ClaimKind, readonly string[]>>;

export type Verdict = (typeof verdictsOfKind)[ClaimKind][number];

export const kindTitles: Readonly<Record<ClaimKind, string>> = {
  paper: 'The paper’s claim',
  question: 'Our question',
};

/** Files from before the kind was written say it by what they quote. */
export function kindOf({ kind, paper }: Pick<Claim, 'kind' | 'paper'>): ClaimKind {
  return kind ?? (paper === undefined ? 'question' : 'paper');
}

export function verdictWord(kind: ClaimKind, finding: Finding): Verdict {
  const [holds, fails, open] = verdictsOfKind[kind];
  return finding === 'larger' ? holds : finding === 'unresolved' ? open : fails;
}

/** What the word leaves out: in which way it is not so, and whether the difference is small; empty where it says all. */
export function verdictDetail({ finding, small }: { readonly finding: Finding; readonly small: boolean }): string {
  if (finding === 'equivalent') return 'no difference';
  const way = finding === 'smaller' ? ['the opposite'] : [];
  return [...way, ...(small ? ['small'] : [])].join(', ');
}

/** Word and detail as tables write them, e.g. `no (the opposite)`. */
export function verdictText(decided: {
  readonly claim: Pick<Claim, 'kind' | 'paper'>;
  readonly finding: Finding;
  readonly small: boolean;
}): string {
  const detail = verdictDetail(decided);
  return verdictWord(kindOf(decided.claim), decided.finding) + (detail && ` (${detail})`);
}
