/** Results of single runs, as `lab run --result` writes them, and the site's index of them: untrusted JSON in, checked values out. */
import * as v from 'valibot';
import { defaultConfig, nonDefault, type PartialConfig, type RunConfig } from '../config/config';
import { between, count, exactly, finite, list, parseWith, settings } from '../experiment/parse';
import { amount, share, summarySchema } from '../experiment/summary-schema';
import { kernelPlanSchema } from '../kernels';
import type { CurveRecord } from '../metrics/records';
import { shellVersions } from '../shell-version';

/** Most iterations of a run, as in the config table. */
const MAX_ITERATIONS = 10_000;

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
const seed = between(0, 2 ** 32 - 1);
const time = v.pipe(v.string(), v.isoTimestamp());

const iterationSchema = exactly({
  iteration: count,
  envTokens: count,
  trainSuccess: share,
  entropy: finite,
  kl: finite,
  clipFraction: share,
  explainedVariance: v.nullable(finite),
  summaryTokens: v.nullable(amount),
  compactions: amount,
  turns: amount,
  factRecall: v.nullable(share),
  evalComp: v.exactOptional(summarySchema),
  evalSingle: v.exactOptional(summarySchema),
  evalLong: v.exactOptional(summarySchema),
  alarms: v.exactOptional(list(v.pipe(v.string(), v.regex(/^[a-z-]{1,40}$/)))),
});

const resultSchema = v.pipe(
  exactly({
    version: v.literal(1),
    command: text(2000),
    preset: v.nullable(text(100)),
    seed,
    config: settings,
    adapter: text(500),
    kernels: v.exactOptional(kernelPlanSchema),
    shell: v.exactOptional(v.picklist(shellVersions)),
    build: text(100),
    createdAt: time,
    outcome: exactly({
      status: v.picklist(['finished', 'stopped']),
      iterations: count,
      envTokens: count,
      elapsedMs: amount,
      evalComp: v.nullable(summarySchema),
      evalSingle: v.nullable(summarySchema),
      // Absent in files of earlier versions.
      evalLong: v.exactOptional(v.nullable(summarySchema)),
    }),
    iterations: list(iterationSchema, 1, MAX_ITERATIONS),
  }),
  v.check(
    ({ outcome, iterations }) =>
      outcome.iterations === iterations.length && iterations.every(({ iteration }, i) => iteration === i),
    'iterations from 0 without gaps, as many as the outcome says',
  ),
);

/** One run: what was run, where, and its curves. `config` holds what differs from the defaults. */
export interface RunResult {
  readonly preset: string | null;
  readonly seed: number;
  readonly config: PartialConfig;
  readonly adapter: string;
  readonly build: string;
  readonly createdAt: string;
  readonly outcome: { readonly iterations: number; readonly elapsedMs: number };
  readonly iterations: readonly CurveRecord[];
}

/** What the index says of one file: enough to tell whether it is wanted, and what it cost. */
export interface RunEntry {
  /** File of the folder, without its ending. */
  readonly name: string;
  readonly preset: string;
  readonly seed: number;
  readonly config: PartialConfig;
  readonly adapter: string;
  readonly iterations: number;
  readonly elapsedMs: number;
}

const indexSchema = exactly({
  version: v.literal(1),
  runs: list(
    exactly({
      name: v.pipe(v.string(), v.regex(/^[a-z0-9]+(-[a-z0-9]+){0,19}$/), v.maxLength(60)),
      preset: text(100),
      seed,
      config: settings,
      adapter: text(500),
      iterations: count,
      elapsedMs: amount,
    }),
  ),
});

/** @throws LabError `run-result.bad` naming the path of the first fault */
export const parseRunResult = (input: unknown, where: string): RunResult =>
  parseWith(resultSchema, input, {
    code: 'run-result.bad',
    what: 'Bad result of a run',
    where,
    fix: 'Write it again: lab run … --result FILE.',
  });

/** public/results/runs.json. @throws LabError `run-result.bad-index` naming the path of the first fault */
export const parseRunIndex = (input: unknown, where: string): readonly RunEntry[] =>
  parseWith(indexSchema, input, {
    code: 'run-result.bad-index',
    what: 'Bad index of recorded runs',
    where,
    fix: 'Make an entry of each result file of a run in this folder, and of nothing else.',
  }).runs;

/** The entry of a file. @param name of the file, without its ending */
export function indexEntry(name: string, result: RunResult): RunEntry {
  const { preset, seed, config, adapter, outcome } = result;
  const { iterations, elapsedMs } = outcome;
  return { name, preset: preset ?? '', seed, config, adapter, iterations, elapsedMs };
}

/** A recorded configuration with the defaults it was recorded without. */
export const wholeConfig = (config: PartialConfig) => ({ ...defaultConfig, ...config }) as RunConfig;

/** Whether a recorded run is the run of exactly this configuration and seed: any other may look different. */
export function isRunOf(run: Pick<RunEntry, 'config' | 'seed'>, config: RunConfig, seed: number): boolean {
  return run.seed === seed && Object.keys(nonDefault(config, wholeConfig(run.config))).length === 0;
}
