/** A measured choice among variants that do the same work. Knows nothing of the GPU: tests run it on fakes and a fake clock. */
import { LabError } from '../../../core/errors';
import type { TrialSkip } from '../../../core/kernels';
import { agrees } from './agreement';

/** A variant in a contest. */
export interface Candidate<Variant extends string> {
  readonly variant: Variant;
  /** Makes it ready and runs it once on little work: a driver may compile as late as the first dispatch. */
  prepare(): Promise<void>;
  /** Does the measured work `repeats` times; ends when the device has done it. */
  run(repeats: number): Promise<void>;
  /** What it computes from a small input, the same for all variants. */
  result(): Promise<ArrayLike<number>>;
}

export interface Trial<Variant extends string> {
  readonly variant: Variant;
  /** Best time of one run, ms; null when there was none. */
  readonly ms: number | null;
  /** Time to make it ready, ms; null when that was not done. */
  readonly compileMs: number | null;
  readonly skipped: TrialSkip | null;
}

export interface ContestResult<Variant extends string> {
  readonly chosen: Variant;
  /** Best time of the chosen variant, ms. */
  readonly ms: number;
  readonly trials: readonly Trial<Variant>[];
  readonly measureMs: number;
}

export interface ContestOptions {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** No further variant is prepared once preparing others than the first has taken this long here. */
  readonly compileBudgetMs: number;
  /** No further round is begun once measuring has taken this long here. */
  readonly measureBudgetMs: number;
  /** Repeats of a run are chosen so that a measurement lasts about this long: a submit has a cost of its own. */
  readonly sampleMs?: number;
  readonly signal?: AbortSignal;
  /** Variant without subgroups, which every other must agree with before it may be chosen. */
  readonly plain?: string;
}

/** A first run this many times slower than the best so far ends a candidate's chances. */
const HOPELESS = 3;
const ROUNDS = 4;
const MAX_REPEATS = 64;
/** An earlier candidate stays chosen unless a later one is faster by this share: noise must not change results. */
const MARGIN = 0.05;

interface Runner<Variant extends string> {
  readonly candidate: Candidate<Variant>;
  readonly compileMs: number;
  ms: number;
}

/**
 * Prepares and times the candidates, in turn, so that a drift of the machine meets all of them alike.
 * @param candidates the likeliest winner first: it sets the mark that others are skipped by, and wins ties
 * @throws the error of the last candidate when none works; the signal's reason
 */
export async function contest<Variant extends string>(
  candidates: readonly Candidate<Variant>[],
  options: ContestOptions,
): Promise<ContestResult<Variant>> {
  const { now, signal } = options;
  const trials = new Map<Variant, Trial<Variant>>();
  const runners: Runner<Variant>[] = [];
  let [extraCompileMs, measureMs] = [0, 0];
  let failure: unknown;
  const best = () => runners.reduce((least, { ms }) => Math.min(least, ms), Number.POSITIVE_INFINITY);
  const timed = async (work: () => Promise<void>) => {
    const from = now();
    await work();
    return now() - from;
  };
  for (const candidate of candidates) {
    signal?.throwIfAborted();
    const { variant } = candidate;
    if (runners.length > 0 && extraCompileMs > options.compileBudgetMs) {
      trials.set(variant, { variant, ms: null, compileMs: null, skipped: 'out-of-time' });
      continue;
    }
    try {
      const compileMs = await timed(() => candidate.prepare());
      if (runners.length > 0) extraCompileMs += compileMs;
      const ms = await timed(() => candidate.run(1));
      measureMs += ms;
      runners.push({ candidate, compileMs, ms });
    } catch (thrown) {
      signal?.throwIfAborted();
      failure = thrown;
      trials.set(variant, { variant, ms: null, compileMs: null, skipped: 'failed' });
    }
  }
  if (runners.length === 0) throw failure;
  for (const variant of await differing(candidates, runners, options)) {
    const at = runners.findIndex(({ candidate }) => candidate.variant === variant);
    const [{ ms, compileMs }] = runners.splice(at, 1) as [Runner<Variant>];
    trials.set(variant, { variant, ms, compileMs, skipped: 'differs' });
  }
  if (runners.length === 0)
    throw new LabError({
      code: 'kernels.differ',
      what: 'No kernel variant that was measured computes what the plain one does',
      expected: `the results of ${options.plain}`,
      got: `other results of ${[...trials.values()].flatMap((t) => (t.skipped === 'differs' ? t.variant : [])).join(', ')}`,
      fix: `Choose ${options.plain} by hand, with --kernels.`,
    });
  const able = runners.filter(({ ms }) => ms <= HOPELESS * best());
  const repeats = Math.min(MAX_REPEATS, Math.max(1, Math.ceil((options.sampleMs ?? 0) / Math.max(best(), 0.01))));
  for (let round = 0; round < ROUNDS && measureMs < options.measureBudgetMs; round++)
    for (const runner of able) {
      signal?.throwIfAborted();
      const ms = await timed(() => runner.candidate.run(repeats));
      measureMs += ms;
      runner.ms = Math.min(runner.ms, ms / repeats);
    }
  const least = Math.min(...able.map(({ ms }) => ms));
  const winner = able.find(({ ms }) => ms * (1 - MARGIN) <= least)!;
  for (const runner of runners) {
    const { candidate, ms, compileMs } = runner;
    const skipped = able.includes(runner) ? null : 'hopeless';
    trials.set(candidate.variant, { variant: candidate.variant, ms, compileMs, skipped });
  }
  return {
    chosen: winner.candidate.variant,
    ms: winner.ms,
    trials: candidates.map(({ variant }) => trials.get(variant)!),
    measureMs,
  };
}

/** Variants that do not agree with the plain one; none where the plain one does not work here or nothing is beside it. */
async function differing<Variant extends string>(
  candidates: readonly Candidate<Variant>[],
  runners: readonly Runner<Variant>[],
  { plain: name, signal }: ContestOptions,
): Promise<Variant[]> {
  const plain = candidates.find(({ variant }) => variant === name);
  const others = runners.map(({ candidate }) => candidate).filter((candidate) => candidate !== plain);
  if (!plain || others.length === 0) return [];
  let wanted: ArrayLike<number>;
  try {
    // Where compiling took too long it was not made ready.
    if (!runners.some(({ candidate }) => candidate === plain)) await plain.prepare();
    wanted = await plain.result();
  } catch {
    signal?.throwIfAborted();
    return [];
  }
  const wrong: Variant[] = [];
  for (const candidate of others) {
    signal?.throwIfAborted();
    const same = await candidate.result().then(
      (got) => agrees(wanted, got),
      () => false,
    );
    if (!same) wrong.push(candidate.variant);
  }
  return wrong;
}
