/** Whether the numbers of a cell can all come from one evaluation and one training: what `evalSummary` makes holds them together. */
import type { EvalSummary } from '../metrics/records';
import type { CellResult } from './experiment';
import { fault } from './parse';

/** Significant digits that outcomes are kept with, see `rounded`. */
export const OUTCOME_DIGITS = 6;

/** A number as it is kept. */
const kept = (value: number | null) => (value === null ? null : Number(value.toPrecision(OUTCOME_DIGITS)));

interface Demand {
  /** From the evaluation, e.g. `success`. */
  readonly path: string;
  readonly expected: string;
  readonly got: unknown;
  readonly holds: boolean;
}

/** A value that another number of the same evaluation decides. */
function equal(path: string, value: number | null, wanted: number | null, because: string): Demand {
  return { path, expected: `${kept(wanted)}, ${because}`, got: value, holds: kept(value) === kept(wanted) };
}

function demandsOf({ byCompactions, ...evaluation }: EvalSummary, attempts: boolean): Demand[] {
  const total = (buckets: EvalSummary['byCompactions'], key: 'solved' | 'episodes') =>
    buckets.reduce((sum, bucket) => sum + bucket[key], 0);
  const share = (buckets: EvalSummary['byCompactions']) => {
    const episodes = total(buckets, 'episodes');
    return episodes === 0 ? null : total(buckets, 'solved') / episodes;
  };
  const { success, episodes, firstAttempt, successNeedingCompaction, meanCompactions, factRecall } = evaluation;
  const over = byCompactions.findIndex((bucket) => bucket.solved > bucket.episodes);
  return [
    {
      path: `byCompactions.${over}.solved`,
      expected: `at most its ${byCompactions[over]?.episodes} episodes`,
      got: byCompactions[over]?.solved,
      holds: over < 0,
    },
    equal('episodes', episodes, total(byCompactions, 'episodes'), 'the episodes in byCompactions'),
    equal('success', success, share(byCompactions) ?? 0, 'solved over episodes in byCompactions'),
    equal(
      'successNeedingCompaction',
      successNeedingCompaction,
      share(byCompactions.slice(1)),
      'solved over episodes in byCompactions from 1 on',
    ),
    {
      path: 'firstAttempt',
      expected: attempts ? 'a share, as in the other modes' : 'none, as in the other modes',
      got: firstAttempt,
      holds: (firstAttempt !== undefined) === attempts,
    },
    {
      // A task is solved when any attempt solved it, so the first alone solves no more.
      path: 'firstAttempt',
      expected: `whole episodes of ${episodes}, at most those solved`,
      got: firstAttempt,
      holds:
        firstAttempt === undefined ||
        episodes === 0 ||
        (kept(Math.round(firstAttempt * episodes) / episodes) === kept(firstAttempt) &&
          kept(firstAttempt)! <= kept(success)!),
    },
    {
      path: 'factRecall',
      expected: 'null, as nothing was compacted',
      got: factRecall,
      holds: meanCompactions > 0 || factRecall === null,
    },
  ];
}

/**
 * Demands of every evaluation that its shares are those of its counts, to the precision kept; that all three are of the same
 * tasks; and that the training curve is that of the training.
 * @param where for errors
 * @throws `results.bad` naming the first number that contradicts another
 */
export function requireConsistent({ evaluation, curve, iterations, envTokens }: CellResult, where: string): void {
  const demand = (what: string, at: string, { expected, got, holds }: Omit<Demand, 'path'>) => {
    if (!holds)
      throw fault('results.bad', what, `${where}, ${at}`, { expected, got: JSON.stringify(got) ?? 'nothing' });
  };
  const tasks = ({ byCompactions }: EvalSummary) => JSON.stringify(byCompactions.map(({ episodes }) => episodes));
  for (const [mode, summary] of Object.entries(evaluation)) {
    for (const { path, ...rest } of demandsOf(summary, evaluation.comp.firstAttempt !== undefined))
      demand('The numbers of an evaluation contradict each other', `evaluation.${mode}.${path}`, rest);
    // How many compactions a task requires is counted in the normal window, whatever the mode.
    demand('The evaluations are not of the same tasks', `evaluation.${mode}.byCompactions`, {
      expected: `${tasks(evaluation.comp)} episodes, as in comp`,
      got: tasks(summary),
      holds: tasks(summary) === tasks(evaluation.comp),
    });
  }
  for (const values of Object.values(curve ?? { none: [] }))
    demand('The training curve is not as long as the training', 'curve', {
      expected: `${iterations} iterations`,
      got: values.length,
      holds: values.length === iterations,
    });
  const last = curve?.envTokens.at(-1) ?? 0;
  demand('The training curve ends elsewhere than the training', 'curve.envTokens', {
    expected: `${envTokens} at the end`,
    got: last,
    holds: last === envTokens,
  });
}
