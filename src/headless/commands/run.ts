import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { type TimeShares, timeShares } from '../../core/metrics/metrics';
import type { EvalSummary, IterationRecord } from '../../core/metrics/records';
import type { Progress, RunHeader, TrainerEvent } from '../../core/protocol/protocol';
import { currentShell } from '../../core/shell-version';
import { createNodePool } from '../../env/pool-node';
import type { PolicyEngine } from '../../model/engine';
import { build } from '../../run/session/build';
import { requireStoredPlan } from '../../run/session/kernel-plan';
import { createEngine, loadBase } from '../../run/session/session';
import { NullSink } from '../../run/trainer/null-sink';
import { type RunOutcome, Trainer } from '../../run/trainer/trainer';
import type { Arguments, Command } from '../command';
import { configInput } from '../file-help';
import { FileSink } from '../file-sink';
import { kernelsOption, readKernels, requestedPlan } from '../kernels-option';
import { writeResult } from '../result-file';
import { claimRun } from '../run-claim';
import { baseFromDisk, openMachine, readConfig } from '../runtime';
import { fileError, shown } from '../system-error';
import { requireWritableFile, requireWritableFolder } from '../targets';

/** One iteration as one JSON line: the success rates as plain numbers, the rest of an evaluation beside them. */
export function iterationLine(record: IterationRecord): Record<string, unknown> {
  const { evalComp, evalSingle, evalLong, ...rest } = record;
  if (!evalComp || !evalSingle) return rest;
  return {
    ...rest,
    evalComp: evalComp.success,
    evalSingle: evalSingle.success,
    ...(evalLong && { evalLong: evalLong.success }),
    evalCompDetail: evalComp,
    evalSingleDetail: evalSingle,
    ...(evalLong && { evalLongDetail: evalLong }),
  };
}

/** How a run ended; of one that had finished before, the evaluation is the stored one. */
export function withEvaluation(ended: RunOutcome, records: readonly IterationRecord[]): RunOutcome {
  if (ended.status !== 'finished') return ended;
  // The last record, whatever its number: a token budget may end training before the last iteration.
  const { evalComp = null, evalSingle = null, evalLong = null } = records.at(-1) ?? {};
  return { ...ended, evalComp, evalSingle, evalLong };
}

function seconds(ms: number): string {
  return ms < 90_000 ? `${Math.round(ms / 1000)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** A line of progress, at most one per iteration or second. */
function reporter(args: Arguments): (progress: Progress) => void {
  let last = '';
  let lastAt = 0;
  return (p) => {
    const key = `${p.status} ${p.iteration}`;
    const now = performance.now();
    if (key === last && now - lastAt < 5000) return;
    last = key;
    lastAt = now;
    const left = p.remainingMs === null ? '' : `, about ${seconds(p.remainingMs)} left`;
    args.note(`${p.status} ${p.iteration}/${p.iterations} ${p.phase ?? ''} ${p.note} (${seconds(p.elapsedMs)}${left})`);
  };
}

/** What the process holds. Before it is read, garbage is collected where Node was started with --expose-gc. */
function memoryLine(iteration: number, engine: PolicyEngine): Record<string, number> {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    iteration,
    deviceBytes: engine.deviceBytes(),
    heapUsed,
    external,
    rss,
    elapsedMs: Math.round(performance.now()),
  };
}

/** The command as it can be typed again. */
function commandLine(args: Arguments): string {
  const settings = args.texts('set').map((s) => ` --set ${s}`);
  const resume = args.text('resume');
  const given = args.text('kernels');
  const kernels = given === undefined ? '' : ` --kernels '${given}'`;
  if (resume) return `lab run --resume ${resume}${kernels}`;
  return `lab run ${args.positionals.join(' ')} --seed ${args.text('seed') ?? '0'}${settings.join('')}${kernels}`;
}

/** What is known of a run before the device is opened. */
interface Plan {
  readonly description: Omit<RunHeader, 'adapter' | 'engine' | 'build' | 'kernels' | 'shell'>;
  /** The run that goes on. */
  readonly stored: Awaited<ReturnType<FileSink['loadRun']>>;
  readonly folder: FileSink | null;
}

/** Reads the arguments, and the run of --resume. @throws LabError for whatever is wrong with them */
async function plan(args: Arguments): Promise<Plan> {
  const resume = args.path('resume');
  if (resume !== undefined) {
    const extra = [...args.positionals, ...['seed', 'set', 'out'].filter((n) => args.given(n)).map((n) => `--${n}`)];
    if (extra.length > 0)
      throw args.usageError('usage.bad-flag', '--resume continues a run as it began', {
        expected: 'no preset, --seed, --set or --out beside --resume',
        got: extra.join(' ').slice(0, 120),
        hint: 'Leave them out, or start a new run without --resume. ',
      });
    const folder = new FileSink(resume);
    const stored = await folder.loadRun();
    if (stored) return { description: stored.header, stored, folder };
    throw args.usageError('usage.bad-value', 'There is no run to resume', {
      expected: 'a folder written by --out',
      got: shown(resume),
    });
  }
  const description = {
    ...(await readConfig(args.required(0, 'preset or configuration file'), args.texts('set'))),
    runId: randomUUID(),
    seed: args.seed(),
    createdAt: new Date().toISOString(),
  };
  const out = args.path('out');
  return { description, stored: null, folder: out === undefined ? null : new FileSink(out) };
}

/** Makes sure that everything asked for can be written, before hours of training. @throws LabError */
async function requireTargets(args: Arguments, folder: FileSink | null, resumes: boolean): Promise<void> {
  for (const name of ['result', 'memory']) {
    const path = args.path(name);
    if (path !== undefined) await requireWritableFile(path);
  }
  if (!folder) return;
  if (!resumes) folder.requireNew();
  await requireWritableFolder(folder.folder);
}

function appendMemory(path: string, line: Record<string, number>): void {
  try {
    appendFileSync(path, `${JSON.stringify(line)}\n`);
  } catch (thrown) {
    throw fileError(thrown, 'The memory file cannot be written', path, 'a file that can be written');
  }
}

/** Where the time went, in one line. */
function noteShares(args: Arguments, what: string, shares: TimeShares | null): void {
  if (!shares) return;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const { gpu, idle, script, terminal } = shares;
  args.note(
    `time of ${what}: GPU ${percent(gpu)}, GPU idle for terminals ${percent(idle)}, JavaScript alone ${percent(script)}; terminals ${percent(terminal)}, also while the GPU works`,
  );
}

const success = (summary: EvalSummary | null) => summary?.success ?? null;

const run: Command = {
  name: 'run',
  summary: 'train a preset or a configuration file; one JSON object per iteration on stdout',
  usage:
    'run <preset|config.json> --seed N [--set key=value]… [--out dir] [--result file] [--memory file] [--kernels …] | run --resume dir',
  positionals: 1,
  options: {
    seed: { type: 'string', help: 'run seed, 0 to 4294967295 (default 0)' },
    set: { type: 'string', multiple: true, help: 'change one configuration key, e.g. --set iterations=10' },
    out: { type: 'string', help: 'new folder for config, metrics, trajectories and checkpoint' },
    result: { type: 'string', help: 'write a small JSON with provenance and the learning curve to this file' },
    memory: {
      type: 'string',
      help: 'append device bytes, JS heap and resident size after each iteration to this file',
    },
    resume: { type: 'string', help: 'continue the run in this folder from its last saved iteration' },
    kernels: kernelsOption,
  },
  input: configInput,
  async run(args) {
    const resume = args.path('resume');
    // Before it is read: reading mends what a crash left, which must not be done under a process that still writes.
    const release = resume !== undefined && FileSink.holdsRun(resume) ? await claimRun(resume) : undefined;
    try {
      return await train(args);
    } finally {
      await release?.();
    }
  },
};
export default run;

/** Trains, or goes on. @returns the exit code */
async function train(args: Arguments): Promise<number | undefined> {
  const { description, stored, folder } = await plan(args);
  const request = await readKernels(args);
  const { config } = description;
  const { shape, parameters } = await loadBase(config, description.seed, baseFromDisk);
  folder?.useShape(shape);
  await requireTargets(args, folder, stored !== null);
  const machine = await openMachine(config.engine);
  const { adapter } = machine;
  // A run goes on with the kernels it began with, whatever was measured since: only so is it the same run.
  const kernels =
    stored && request === undefined
      ? stored.header.kernels
      : await requestedPlan(args, request, machine, shape, config);
  if (stored && request === undefined) await requireStoredPlan(machine, shape, stored.header);
  const made = { adapter, engine: machine.engine, build, kernels, shell: currentShell };
  const header: RunHeader = stored?.header ?? { ...description, ...made };
  const release = folder && !stored ? await claimRun(folder.folder) : undefined;
  const pool = await createNodePool({ workers: config.terminalWorkers });
  try {
    if (folder && !stored) await folder.saveHeader(header);
    const engine = await createEngine(machine, shape, config, kernels);
    const report = reporter(args);
    const records: IterationRecord[] = stored?.records ?? [];
    const memory = args.text('memory');
    const emit = (event: TrainerEvent) => {
      if (event.type === 'progress') report(event.progress);
      else if (event.type === 'iteration') {
        args.print(iterationLine(event.record));
        records.push(event.record);
        if (memory) appendMemory(memory, memoryLine(event.record.iteration, engine));
        for (const alarm of event.record.alarms) args.note(`alarm: ${alarm.message}`);
      }
    };
    const trainer = new Trainer(header, {
      engine,
      pool,
      sink: folder ?? new NullSink(),
      base: parameters,
      here: { adapter, build, kernels },
      emit,
      now: () => performance.now(),
    });
    args.signal.addEventListener('abort', () => trainer.stop());
    // Asked for while the device was being opened: no event comes any more.
    if (args.signal.aborted) trainer.stop();
    const outcome = withEvaluation(await trainer.run(stored?.checkpoint ?? null), records);
    args.print({
      done: outcome.status === 'finished',
      evalComp: success(outcome.evalComp),
      evalSingle: success(outcome.evalSingle),
      evalLong: success(outcome.evalLong),
      evalCompDetail: outcome.evalComp,
      evalSingleDetail: outcome.evalSingle,
      evalLongDetail: outcome.evalLong,
      iterations: outcome.iterations,
      envTokens: outcome.envTokens,
      elapsedMs: Math.round(outcome.elapsedMs),
      adapter,
      kernels,
      seed: header.seed,
      build,
      deviceBytes: engine.deviceBytes(),
    });
    noteShares(args, 'training', timeShares(records.flatMap((r) => r.timing ?? [])));
    noteShares(args, 'evaluation', timeShares(records.flatMap((r) => r.evalTiming ?? [])));
    const result = args.text('result');
    if (result) await writeResult(result, commandLine(args), header, records, outcome);
    engine.dispose();
    return outcome.status === 'finished' ? 0 : 130;
  } finally {
    await pool.close();
    machine.context?.dispose();
    await release?.();
  }
}
