/** The training loop: rollout → advantages → update → evaluate → save, as a state machine that can pause, step and stop. */
import { errorParts } from '../../core/errors';
import type { EvalMode } from '../../core/experiment/experiment';
import type { Alarm, EvalSummary, IterationRecord } from '../../core/metrics/records';
import type {
  Checkpoint,
  ModelState,
  RunHeader,
  Sink,
  TrainerEvent,
  TrainerPhase,
  TrainerStatus,
} from '../../core/protocol/protocol';
import type { Rollout } from '../../core/trajectory/trajectory';
import type { TerminalPool } from '../../env/pool';
import { shellPool } from '../../env/shell-pool';
import type { ModelRole, PolicyEngine } from '../../model/engine';
import { learn, trainingProgress } from '../learn/learn';
import { rollOut } from '../rollout/rollout';
import { trainingSetups } from '../rollout/tasks';
import { watchEpisode } from '../rollout/watch';
import { Control, Stopped } from './control';
import { evalNames, evaluate, trainingConfig } from './evaluate';
import { requireFiniteCheckpoint, requireFiniteUpdate, requireSavable } from './finite';
import { movedAlarm, type Place } from './moved';
import { iterationRecord } from './record';
import { expectedIterations, IterationClock } from './remaining';
import { metered, TimeAccount } from './timing';

export interface TrainerDependencies {
  readonly engine: PolicyEngine;
  readonly pool: TerminalPool;
  readonly sink: Sink;
  /** Parameters of the base policy. */
  readonly base: Float32Array;
  readonly emit: (event: TrainerEvent) => void;
  /** The adapter, build and kernels that run now; a resumed run may have been started elsewhere. */
  readonly here: Place;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Compactions that held-out tasks require, where they are known; filled by evaluations. */
  readonly required?: Map<number, number> | undefined;
}

/** How a run ended. */
export interface RunOutcome {
  readonly status: Extract<TrainerStatus, 'finished' | 'stopped'>;
  readonly iterations: number;
  readonly envTokens: number;
  readonly elapsedMs: number;
  readonly evalComp: EvalSummary | null;
  readonly evalSingle: EvalSummary | null;
  readonly evalLong: EvalSummary | null;
}

/** One run. Create, then `run` once. */
export class Trainer {
  private status: TrainerStatus = 'idle';
  private phase: TrainerPhase | null = null;
  private iteration = 0;
  private envTokens = 0;
  private note = '';
  private elapsedBefore = 0;
  private startedAt = 0;
  private clock: IterationClock | null = null;
  /** What the next record has to say besides its own alarms. */
  private pending: Alarm[] = [];
  private readonly control = new Control((mode) => {
    if (mode === 'stopped') return;
    this.setStatus(mode === 'paused' ? 'paused' : 'running');
  });

  private readonly deps: TrainerDependencies & { readonly required: Map<number, number> };
  private readonly time: TimeAccount;
  private readonly gate = () => this.time.during('pause', this.control.gate);

  constructor(
    private readonly header: RunHeader,
    deps: TrainerDependencies,
  ) {
    this.time = new TimeAccount(deps.now);
    this.deps = {
      ...deps,
      engine: metered(deps.engine, this.time, 'gpu'),
      pool: metered(shellPool(deps.pool, header.shell ?? 1), this.time, 'terminal'),
      required: deps.required ?? new Map(),
    };
  }

  pause(): void {
    this.control.pause();
  }
  resume(): void {
    this.control.resume();
  }
  step(): void {
    this.control.step();
  }
  stop(): void {
    this.control.stop();
  }

  /**
   * Trains to the end, or from a checkpoint to the end.
   * @throws LabError when the run cannot go on; what was saved stays
   */
  async run(checkpoint: Checkpoint | null = null): Promise<RunOutcome> {
    const { sink } = this.deps;
    const { config, runId } = this.header;
    this.startedAt = this.deps.now();
    this.clock = new IterationClock(this.startedAt);
    if (checkpoint) this.pending = movedAlarm(this.header, this.deps.here);
    try {
      this.setStatus('preparing', 'loading the base policy');
      await this.restore(checkpoint);
      this.setStatus('running');
      await sink.saveStatus(runId, 'running');
      let last: IterationRecord | null = null;
      while (trainingProgress(config, this.iteration, this.envTokens) < 1) last = await this.iterate();
      this.setStatus('finished');
      await sink.saveStatus(runId, 'finished');
      return this.outcome('finished', last);
    } catch (thrown) {
      if (thrown instanceof Stopped) {
        this.setStatus('stopped');
        await sink.saveStatus(runId, 'stopped');
        return this.outcome('stopped', null);
      }
      this.setStatus('failed');
      this.deps.emit({ type: 'failed', runId, error: errorParts(thrown) });
      await sink.saveStatus(runId, 'failed').catch(() => {});
      throw thrown;
    }
  }

  private outcome(status: 'finished' | 'stopped', last: IterationRecord | null): RunOutcome {
    return {
      status,
      iterations: this.iteration,
      envTokens: this.envTokens,
      elapsedMs: this.elapsed(),
      evalComp: last?.evalComp ?? null,
      evalSingle: last?.evalSingle ?? null,
      evalLong: last?.evalLong ?? null,
    };
  }

  /** Puts models and optimisers where the checkpoint (or the base policy) says. */
  private async restore(checkpoint: Checkpoint | null): Promise<void> {
    const { engine, base } = this.deps;
    const { config } = this.header;
    await engine.setParameters('policy', base);
    if (config.critic === 'separate') await engine.setParameters('critic', base);
    if (config.klCoef > 0) await engine.setParameters('reference', base);
    if (config.trainSummary === 'frozen') await engine.setParameters('writer', base);
    if (!checkpoint) return;
    requireFiniteCheckpoint(checkpoint, engine.shape, `checkpoint of iteration ${checkpoint.iteration}`);
    this.iteration = checkpoint.iteration;
    this.envTokens = checkpoint.envTokens;
    this.elapsedBefore = checkpoint.elapsedMs;
    await this.setState('policy', checkpoint.policy);
    if (checkpoint.critic) await this.setState('critic', checkpoint.critic);
  }

  private async setState(role: ModelRole, state: ModelState): Promise<void> {
    await this.deps.engine.setParameters(role, state.parameters);
    await this.deps.engine.setOptimiser(role, state);
  }
  private async getState(role: ModelRole): Promise<ModelState> {
    const { engine } = this.deps;
    return { parameters: await engine.getParameters(role), ...(await engine.getOptimiser(role)) };
  }

  private async iterate(): Promise<IterationRecord> {
    const { engine, pool, now } = this.deps;
    const { config, seed, runId } = this.header;
    const iteration = this.iteration;
    const startedAt = now();
    this.time.take();
    const killsBefore = pool.kills;
    const progress = trainingProgress(config, iteration, this.envTokens);
    await this.enter('rollout');
    const rollouts = await this.collect();
    this.envTokens += rollouts.reduce((n, r) => n + r.fedTokens, 0);
    const rolloutMs = now() - startedAt;
    const updateAt = now();
    const result = await learn(rollouts, {
      engine,
      config,
      seed,
      iteration,
      progress,
      gate: this.gate,
      onPhase: (phase) => this.enter(phase),
    });
    requireFiniteUpdate(result, iteration);
    const updateMs = now() - updateAt;
    const timing = this.time.take();
    const evalAt = now();
    const evals = await this.evaluateIfDue();
    const evalMs = now() - evalAt;
    const evalTiming = this.time.take();
    // Asked of the pool: a verifier can hang too, and so can a command of an evaluation.
    const killed: Alarm[] =
      pool.kills > killsBefore
        ? [
            {
              code: 'killed-command',
              message: 'A hanging command was killed by the clock; this run cannot be reproduced bit for bit.',
            },
          ]
        : [];
    const record = iterationRecord(
      rollouts,
      result,
      { config, progress, before: this.pending, after: killed },
      {
        iteration,
        envTokens: this.envTokens,
        ...evals,
        rolloutMs,
        updateMs,
        evalMs,
        timing,
        ...(evals.evalComp && { evalTiming }),
      },
    );
    this.pending = [];
    await this.enter('save');
    this.iteration = iteration + 1;
    const checkpoint: Checkpoint = {
      iteration: this.iteration,
      envTokens: this.envTokens,
      policy: await this.getState('policy'),
      critic: config.critic === 'separate' ? await this.getState('critic') : null,
      elapsedMs: this.elapsed(),
    };
    requireSavable(checkpoint, engine.shape);
    await this.save(record, rollouts, checkpoint);
    this.clock?.lap(startedAt, now());
    this.deps.emit({ type: 'iteration', runId, record });
    this.report();
    return record;
  }

  /** Saves an iteration. A full disk pauses the run until its user has made room; nothing computed is lost. */
  private async save(record: IterationRecord, rollouts: readonly Rollout[], checkpoint: Checkpoint): Promise<void> {
    const { runId } = this.header;
    for (;;) {
      try {
        await this.deps.sink.saveIteration(runId, record, rollouts, checkpoint);
        return;
      } catch (thrown) {
        const error = errorParts(thrown);
        if (error.code !== 'store.quota') throw thrown;
        this.deps.emit({ type: 'failed', runId, error });
        this.control.pause();
        await this.gate();
      }
    }
  }

  /** This iteration's training rollouts. */
  private async collect(): Promise<Rollout[]> {
    const { pool, engine, emit } = this.deps;
    const { seed, runId } = this.header;
    const config = trainingConfig(this.header.config);
    const setups = trainingSetups(config, seed, this.iteration);
    return rollOut(setups, {
      engine,
      pool,
      config,
      seed,
      purpose: 'sample',
      summaryRole: config.trainSummary === 'frozen' ? 'writer' : 'policy',
      gate: this.gate,
      observe: (episodes) => {
        const flush = watchEpisode(episodes[0]!, config, (events) => emit({ type: 'watch', runId, events }));
        return (finished) => {
          flush();
          this.say(`${Math.round(finished * 100)} % of ${config.episodes} episodes done`);
        };
      },
    });
  }

  private async evaluateIfDue(): Promise<Pick<IterationRecord, 'evalComp' | 'evalSingle' | 'evalLong'>> {
    const { engine, pool, required } = this.deps;
    const { config, seed } = this.header;
    const done = this.iteration + 1;
    const final = trainingProgress(config, done, this.envTokens) >= 1;
    if (!final && (config.evalEvery === 0 || done % config.evalEvery !== 0)) return {};
    await this.enter('evaluate');
    const episodes = final ? config.finalEvalEpisodes : config.evalEpisodes;
    const run = (mode: EvalMode) =>
      evaluate(mode, {
        engine,
        pool,
        config,
        seed,
        episodes,
        gate: this.gate,
        required,
        onProgress: (share) => this.say(`${evalNames[mode]}: ${Math.round(share * 100)} % of ${episodes}`),
      });
    return {
      evalComp: await run('comp'),
      evalSingle: await run('single'),
      ...(final && { evalLong: await run('long') }),
    };
  }

  private async enter(phase: TrainerPhase): Promise<void> {
    if (this.phase !== null) await this.time.during('pause', () => this.control.phaseEnd());
    this.phase = phase;
    this.note = '';
    this.report();
  }
  private say(note: string): void {
    this.note = note;
    this.report();
  }
  private setStatus(status: TrainerStatus, note = ''): void {
    this.status = status;
    this.note = note;
    this.report();
  }
  private elapsed(): number {
    return this.elapsedBefore + this.deps.now() - this.startedAt;
  }

  private report(): void {
    const { config, runId } = this.header;
    const iterations = expectedIterations(config, this.iteration, this.envTokens);
    const remainingMs = this.clock?.remaining(this.iteration, iterations, this.deps.now()) ?? null;
    this.deps.emit({
      type: 'progress',
      progress: {
        runId,
        status: this.status,
        phase: this.status === 'finished' ? null : this.phase,
        iteration: this.iteration,
        iterations,
        note: this.note,
        elapsedMs: this.elapsed(),
        remainingMs: this.status === 'finished' ? 0 : remainingMs,
      },
    });
  }
}
