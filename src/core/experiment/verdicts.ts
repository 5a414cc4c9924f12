/**
 * What an experiment says: the table of its arms, and a verdict on each claim in each setup. docs/statistics.md tells what each
 * number is conditional on.
 */
import { type Clustered, clusterInterval, clusterMean, hierarchicalBootstrap } from '../statistics/clusters';
import { type Interval, sampleSd } from '../statistics/intervals';
import { correlation, holm, type SignFlip, signFlipTest } from '../statistics/tests';
import { runsIn, seedsOf, warmStartOf } from './cells';
import type { CellResult, Claim, Experiment, ExperimentResults, Outcome } from './experiment';
import { type Finding, kindOf, type Verdict, verdictWord } from './verdict-words';

export const outcomes = ['comp', 'single', 'long', 'summaryTokens', 'compactions', 'turns', 'factRecall'] as const;

/** Shares of episodes solved: the outcomes for which ±0.02 is small. */
const successes: readonly Outcome[] = ['comp', 'single', 'long'];

/** Success that differs by no more is as good as equal. */
export const EQUIVALENCE_MARGIN = 0.02;

/** Pairs below which a claim stays open: two seeds have no spread to speak of. */
const FEWEST_PAIRS = 3;

export interface SeedValue {
  readonly seed: number;
  readonly value: number;
}

/** Values over seeds. */
export interface Sample {
  /** Ascending by seed. */
  readonly values: readonly SeedValue[];
  readonly n: number;
  /** Mean of warm-start means; null of nothing. */
  readonly mean: number | null;
  /** Over seeds, n − 1; null of fewer than two. */
  readonly sd: number | null;
  /** 95 % interval of the mean over warm starts and seeds, see `intervalOf`. */
  readonly interval: Interval | null;
}

/** One arm in one setup, one outcome. */
export interface ArmSample extends Sample {
  readonly setup: string;
  readonly arm: string;
  readonly outcome: Outcome;
  /** Seeds that the experiment asks for and that have no value (yet). */
  readonly missing: readonly number[];
}

export interface Pair extends SeedValue {
  readonly left: number;
  readonly right: number;
}

/** One claim in one setup. Sample: of the differences left − right. */
export interface ClaimResult extends Sample {
  readonly claim: Claim;
  readonly setup: string;
  /** Seeds that both sides have; `value` is left − right. */
  readonly values: readonly Pair[];
  /** Seeds that only one side has: not used. */
  readonly unpaired: readonly number[];
  /** 90 % interval, for equivalence (two one-sided tests of 5 %). */
  readonly interval90: Interval | null;
  /** 95 % hierarchical bootstrap: for figures, decides nothing. */
  readonly bootstrap: Interval | null;
  /** Against no difference; null of no pairs. */
  readonly signFlip: SignFlip | null;
  /** Holm-adjusted p over the claims of the same setup that have pairs: a setup is a study of its own. */
  readonly adjustedP: number | null;
  /** Of left with right over seeds: what pairing gained. */
  readonly correlation: number | null;
  readonly finding: Finding;
  /** The finding in the words for a claim of the paper or for a question of ours. */
  readonly verdict: Verdict;
  /** Success only: the 90 % interval lies within ±0.02, whatever the finding. */
  readonly small: boolean;
}

/** The number of an outcome; null where the cell has none. */
export function outcomeOf({ evaluation }: Pick<CellResult, 'evaluation'>, outcome: Outcome): number | null {
  switch (outcome) {
    case 'comp':
    case 'single':
    case 'long':
      return evaluation[outcome].success;
    case 'summaryTokens':
      return evaluation.comp.meanSummaryTokens;
    case 'compactions':
      return evaluation.comp.meanCompactions;
    case 'turns':
      return evaluation.comp.meanTurns;
    case 'factRecall':
      return evaluation.comp.factRecall;
  }
}

/** Seeds of one warm start are a cluster; where the experiment has one warm start, each seed is, and all is said of that one. */
function clustered(experiment: Pick<Experiment, 'warmStarts'>, values: readonly SeedValue[]): Clustered[] {
  return values.map(({ seed, value }) => ({
    cluster: experiment.warmStarts === 1 ? seed : warmStartOf(experiment, seed),
    value,
  }));
}

/**
 * The interval that tables, figures and verdicts show: Student's on warm-start means; on seeds where there is one warm start.
 * @param values one a seed, in the unit of the outcome
 * @param level confidence, 0.95 if left out
 * @returns null of fewer than two warm starts (seeds, where there is one warm start)
 */
export function intervalOf(
  experiment: Pick<Experiment, 'warmStarts'>,
  values: readonly SeedValue[],
  level = 0.95,
): Interval | null {
  return clusterInterval(clustered(experiment, values), level);
}

/** The mean that tables, figures and verdicts show: of warm-start means, as the interval is. @returns null of no values */
export function meanOf(experiment: Pick<Experiment, 'warmStarts'>, values: readonly SeedValue[]): number | null {
  return clusterMean(clustered(experiment, values));
}

function sampleOf<T extends SeedValue>(experiment: Experiment, values: readonly T[]) {
  return {
    values,
    n: values.length,
    mean: meanOf(experiment, values),
    sd: sampleSd(values.map(({ value }) => value)),
    interval: intervalOf(experiment, values),
  };
}

/** Values of one outcome by seed, ascending. */
function valuesOf(cells: readonly CellResult[], setup: string, arm: string, outcome: Outcome): SeedValue[] {
  return cells
    .filter((cell) => cell.setup === setup && cell.arm === arm)
    .flatMap((cell) => {
      const value = outcomeOf(cell, outcome);
      return value === null ? [] : [{ seed: cell.seed, value }];
    })
    .sort((a, b) => a.seed - b.seed);
}

/** Every arm of every setup it runs in, every outcome, in the order of the experiment, whether or not there are cells yet. */
export function armTable({ experiment, cells }: ExperimentResults): ArmSample[] {
  return experiment.setups.flatMap((setup) =>
    experiment.arms
      .filter((arm) => runsIn(arm, setup))
      .flatMap((arm) =>
        outcomes.map((outcome) => {
          const values = valuesOf(cells, setup.id, arm.id, outcome);
          const present = new Set(values.map(({ seed }) => seed));
          const wanted = Array.from({ length: seedsOf(experiment, arm, setup) }, (_, i) => i + 1);
          const missing = wanted.filter((seed) => !present.has(seed));
          return { setup: setup.id, arm: arm.id, outcome, missing, ...sampleOf(experiment, values) };
        }),
      ),
  );
}

/**
 * What a comparison found, in this order: the 95 % interval above 0, `larger`; below 0, `smaller`; success whose 90 % interval
 * lies within ±0.02, `equivalent`; else `unresolved`. So a difference that is sure but small is `larger`, and flagged `small`.
 * @param n pairs; fewer than three decide nothing, whatever their interval
 */
export function findingOf(interval: Interval | null, small: boolean, n: number): Finding {
  if (n < FEWEST_PAIRS) return 'unresolved';
  if (interval !== null && interval.low > 0) return 'larger';
  if (interval !== null && interval.high < 0) return 'smaller';
  return small ? 'equivalent' : 'unresolved';
}

function decide({ experiment, cells }: ExperimentResults, claim: Claim, setup: string): Omit<ClaimResult, 'adjustedP'> {
  const left = valuesOf(cells, setup, claim.left.arm, claim.left.outcome);
  const right = new Map(valuesOf(cells, setup, claim.right.arm, claim.right.outcome).map((v) => [v.seed, v.value]));
  const values = left.flatMap(({ seed, value }): Pair[] => {
    const other = right.get(seed);
    return other === undefined ? [] : [{ seed, left: value, right: other, value: value - other }];
  });
  const paired = new Set(values.map(({ seed }) => seed));
  const seen = new Set([...left.map(({ seed }) => seed), ...right.keys()]);
  const interval90 = intervalOf(experiment, values, 0.9);
  const success = [claim.left, claim.right].every(({ outcome }) => successes.includes(outcome));
  const inMargin = (at: number) => Math.abs(at) <= EQUIVALENCE_MARGIN;
  const small = success && interval90 !== null && inMargin(interval90.low) && inMargin(interval90.high);
  const sample = sampleOf(experiment, values);
  const finding = findingOf(sample.interval, small, values.length);
  return {
    claim,
    setup,
    ...sample,
    unpaired: [...seen].filter((seed) => !paired.has(seed)).sort((a, b) => a - b),
    interval90,
    bootstrap: hierarchicalBootstrap(clustered(experiment, values)),
    signFlip: signFlipTest(values.map(({ value }) => value)),
    correlation: correlation(
      values.map((pair) => pair.left),
      values.map((pair) => pair.right),
    ),
    finding,
    verdict: verdictWord(kindOf(claim), finding),
    small,
  };
}

/** Every claim in every setup it is decided in, in the order of the experiment; claims first. */
export function decideClaims(results: ExperimentResults): ClaimResult[] {
  const { experiment } = results;
  const runs = (id: string, setup: Experiment['setups'][number]) =>
    experiment.arms.some((arm) => arm.id === id && runsIn(arm, setup));
  const decided = experiment.claims.flatMap((claim) =>
    experiment.setups
      .filter(({ id }) => claim.setups === undefined || claim.setups.includes(id))
      .filter((setup) => runs(claim.left.arm, setup) && runs(claim.right.arm, setup))
      .map(({ id }) => decide(results, claim, id)),
  );
  const adjusted = new Map<(typeof decided)[number], number | null>();
  for (const { id } of experiment.setups) {
    const family = decided.filter(({ setup }) => setup === id);
    const p = holm(family.map(({ signFlip }) => signFlip?.p ?? null));
    for (const [i, result] of family.entries()) adjusted.set(result, p[i]!);
  }
  return decided.map((result) => ({ ...result, adjustedP: adjusted.get(result)! }));
}
