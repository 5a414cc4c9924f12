/** Which of many pairs of episodes is worth showing: decided by a rule that the recording states. */
import type { Frame, RecordedEpisode, Recording } from '../../core/recording/recording';

export interface Pair {
  readonly base: RecordedEpisode;
  readonly trained: RecordedEpisode;
}

type Fold = Extract<Frame, { kind: 'fold' }>;
const folds = ({ frames }: RecordedEpisode): Fold[] => frames.filter((frame): frame is Fold => frame.kind === 'fold');

/** The rule in words, for provenance. */
export const rule =
  'the base policy loses a fact in a summary and fails, while the trained one solves the task through at least one summary and loses none';

/** Whether a pair shows what training changed, by the rule above. */
export function shows({ base, trained }: Pair): boolean {
  return (
    !base.success &&
    firstLoss(base) < Infinity &&
    trained.success &&
    folds(trained).length > 0 &&
    firstLoss(trained) === Infinity
  );
}

/** Number of the first summary that loses a fact, from 0; Infinity where none does. */
function firstLoss(episode: RecordedEpisode): number {
  const at = folds(episode).findIndex(({ lost }) => lost.length > 0);
  return at < 0 ? Infinity : at;
}

/** The pair to show: of those that fit the rule the one whose base policy loses a fact soonest, then the first. */
export function choose<T extends Pair>(pairs: readonly T[]): T | undefined {
  return pairs.filter(shows).sort((a, b) => firstLoss(a.base) - firstLoss(b.base))[0];
}

/** Every fact that a fold of the pair names, each once, as a recording lists them. */
export function factsOf({ base, trained }: Pair): Recording['facts'] {
  const names = [base, trained].flatMap(folds).flatMap(({ kept, lost }) => [...kept, ...lost]);
  return [...new Set(names)].map((name) => ({ name, value: name }));
}
