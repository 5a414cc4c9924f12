/**
 * Runs the cells of an experiment one after the other, in a browser worker or in Node. Device and terminals are the
 * caller's; the engine is kept from one cell to the next where their models allow it, as making one takes seconds.
 */
import { nonDefault, type RunConfig } from '../../core/config/config';
import { type ConfigName, configTable } from '../../core/config/config-table';
import { LabError } from '../../core/errors';
import { type Cell, fingerprint } from '../../core/experiment/cells';
import { type CellResult, type Curve, type EvalMode, evalModes } from '../../core/experiment/experiment';
import { rounded } from '../../core/experiment/result';
import type { KernelPlan } from '../../core/kernels';
import type { Alarm, EvalSummary, IterationRecord } from '../../core/metrics/records';
import type { RunHeader } from '../../core/protocol/protocol';
import { currentShell, type ShellVersion } from '../../core/shell-version';
import type { TerminalPool } from '../../env/pool';
import { rememberingPool } from '../../env/remembering-pool';
import { shellPool } from '../../env/shell-pool';
import type { GpuContext } from '../../gpu/device';
import type { PolicyEngine } from '../../model/engine';
import type { ModelShape } from '../../model/parameters';
import { build } from '../session/build';
import { readModel, requireFit, writeModel } from '../session/model-file';
import { type BaseLoader, createEngine, loadBase, type Machine, machineFor } from '../session/session';
import { evaluate } from '../trainer/evaluate';
import { NullSink } from '../trainer/null-sink';
import { Trainer } from '../trainer/trainer';

/** Final policies by name of the cell that trained them, as safetensors. */
export interface PolicyStore {
  /** Null when there is none. */
  load(cell: string): Promise<Uint8Array | null>;
  /** Durable when it resolves. */
  save(cell: string, bytes: Uint8Array): Promise<void>;
}

export interface CellRunnerOptions {
  /** Null: there is no graphics adapter, or no cell needs one. */
  readonly context: GpuContext | null;
  readonly pool: TerminalPool;
  readonly base: BaseLoader;
  readonly policies: PolicyStore;
  /** The kernels that a model computes with; undefined where its engine has none to choose. */
  readonly kernels: (machine: Machine, shape: ModelShape, config: RunConfig) => Promise<KernelPlan | undefined>;
  /** The command that runs this cell alone, stored with its result. */
  readonly command: (cell: Cell) => string;
  /** Version of the terminal; absent: the current one. */
  readonly shell?: ShellVersion;
}

/** How far a cell is. */
export interface CellProgress {
  readonly iteration: number;
  /** 0 for a cell that is only evaluated. */
  readonly iterations: number;
  readonly note: string;
}

export interface RunCellOptions {
  /** Ends the cell at its next gate. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: CellProgress) => void;
}

/** Tasks whose required compactions are remembered at once: the setups of a seed, and those of the next. */
const MAX_KNOWN = 16;

interface Open {
  readonly key: string;
  readonly engine: PolicyEngine;
  readonly kernels: KernelPlan | undefined;
}

/** What a cell came to, before it is dressed as a result. */
type Outcome = Pick<CellResult, 'iterations' | 'envTokens' | 'evaluation' | 'curve' | 'alarms'>;

export class CellRunner {
  private open: Open | null = null;
  private readonly plans = new Map<string, Promise<KernelPlan | undefined>>();
  private readonly required = new Map<string, Map<number, number>>();

  /** Arms meet the same tasks: what one has seen of a shell serves the others. */
  private readonly pool: TerminalPool;
  private readonly shell: ShellVersion;

  constructor(private readonly options: CellRunnerOptions) {
    this.shell = options.shell ?? currentShell;
    this.pool = shellPool(rememberingPool(options.pool), this.shell);
  }

  /**
   * Runs one cell. What a cell depends on must have run before: its policy is asked of the store.
   * @returns the result, numbers rounded; null when it was aborted, in whatever phase
   * @throws LabError `experiment.policy-missing`; whatever a run throws
   */
  async run(cell: Cell, run: RunCellOptions): Promise<CellResult | null> {
    try {
      return await this.compute(cell, run);
    } catch (thrown) {
      // Each phase breaks off in its own way: the measurement of kernels by a DOMException, an evaluation by the signal's.
      if (run.signal.aborted) return null;
      throw thrown;
    }
  }

  private async compute(cell: Cell, run: RunCellOptions): Promise<CellResult | null> {
    const { config, seed } = cell;
    const startedAt = performance.now();
    const machine = machineFor(this.options.context, config.engine);
    const base = await loadBase(config, seed, this.options.base);
    const { engine, kernels } = await this.engineFor(machine, base.shape, config);
    const outcome =
      cell.policy === 'train'
        ? await this.train(cell, machine, engine, kernels, base.parameters, run)
        : await this.evaluate(cell, engine, base.parameters, run);
    if (outcome === null) return null;
    return rounded({
      version: 1,
      setup: cell.setup.id,
      arm: cell.arm.id,
      seed,
      hash: cell.hash,
      config: nonDefault(config),
      command: this.options.command(cell),
      adapter: machine.adapter,
      ...(kernels && { kernels }),
      // Version 1 is recorded as before there were others: run again, such a cell has the same bytes.
      ...(this.shell > 1 && { shell: this.shell }),
      build,
      base: await fingerprint(base.parameters),
      createdAt: new Date().toISOString(),
      elapsedMs: Math.round(performance.now() - startedAt),
      ...outcome,
    });
  }

  /** Frees the device memory. Device and terminals stay open. */
  dispose(): void {
    this.open?.engine.dispose();
    this.open = null;
  }

  /**
   * An engine for a model, the last one where it serves: parameters and optimisers are set anew by every cell, a context
   * begins with an empty cache, and models of roles that a cell does not use are not read.
   */
  private async engineFor(machine: Machine, shape: ModelShape, config: RunConfig): Promise<Open> {
    const model = JSON.stringify([machine.engine, shape, config.microBatchTokens, config.kernels]);
    // Asked once per model: results of equal configurations must not depend on when it was measured.
    const plan = this.plans.get(model) ?? this.options.kernels(machine, shape, config);
    this.plans.set(model, plan);
    const kernels = await plan;
    if (this.open?.key === model) return this.open;
    this.dispose();
    const engine = await createEngine(machine, shape, config, kernels);
    this.open = { key: model, engine, kernels };
    return this.open;
  }

  private async train(
    { config, seed, name }: Cell,
    { adapter, engine: kind }: Machine,
    engine: PolicyEngine,
    kernels: KernelPlan | undefined,
    base: Float32Array,
    { signal, onProgress }: RunCellOptions,
  ): Promise<Outcome | null> {
    const records: IterationRecord[] = [];
    const header: RunHeader = {
      runId: name,
      config,
      seed,
      preset: null,
      createdAt: '',
      adapter,
      engine: kind,
      build,
      kernels,
      shell: this.shell,
    };
    const trainer = new Trainer(header, {
      engine,
      pool: this.pool,
      sink: new NullSink(),
      base,
      here: header,
      required: this.knownCompactions(config, seed),
      now: () => performance.now(),
      emit: (event) => {
        if (event.type === 'iteration') records.push(event.record);
        if (event.type === 'progress') {
          const { iteration, iterations, phase, note } = event.progress;
          onProgress?.({ iteration, iterations, note: `${phase ?? ''} ${note}`.trim() });
        }
      },
    });
    const stop = () => trainer.stop();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const ended = await trainer.run().finally(() => signal.removeEventListener('abort', stop));
    const { evalComp: comp, evalSingle: single, evalLong: long } = ended;
    if (ended.status === 'stopped' || !comp || !single || !long) return null;
    const metadata = { cell: name, build, adapter };
    await this.options.policies.save(name, writeModel(engine.shape, await engine.getParameters('policy'), metadata));
    return {
      iterations: ended.iterations,
      envTokens: ended.envTokens,
      evaluation: { comp, single, long },
      curve: curveOf(records),
      alarms: counted(records.flatMap((record) => record.alarms)),
    };
  }

  /** Evaluates a policy that is not trained here, on the held-out tasks of its seed. */
  private async evaluate(
    { config, seed, policy, writer }: Cell,
    engine: PolicyEngine,
    base: Float32Array,
    { signal, onProgress }: RunCellOptions,
  ): Promise<Outcome> {
    const { pool } = this;
    const parametersOf = (source: typeof policy) =>
      typeof source === 'object' ? this.finalPolicy(source, engine.shape) : base;
    await engine.setParameters('policy', await parametersOf(policy));
    const writes = writer ?? (config.trainSummary === 'frozen' ? 'base' : null);
    if (writes !== null) await engine.setParameters('writer', await parametersOf(writes));
    const evaluation: Partial<Record<EvalMode, EvalSummary>> = {};
    const killsBefore = pool.kills;
    for (const mode of evalModes)
      evaluation[mode] = await evaluate(mode, {
        engine,
        pool,
        config,
        seed,
        episodes: config.finalEvalEpisodes,
        gate: async () => signal.throwIfAborted(),
        required: this.knownCompactions(config, seed),
        summaryRole: writes === null ? 'policy' : 'writer',
        onProgress: (share) =>
          onProgress?.({ iteration: 0, iterations: 0, note: `${mode}: ${Math.round(share * 100)} %` }),
      });
    const kills = pool.kills - killsBefore;
    return {
      iterations: 0,
      envTokens: 0,
      evaluation: evaluation as Record<EvalMode, EvalSummary>,
      curve: null,
      alarms: kills > 0 ? { 'killed-command': kills } : {},
    };
  }

  private async finalPolicy({ name }: Cell, wanted: ModelShape): Promise<Float32Array> {
    const bytes = await this.options.policies.load(name);
    if (!bytes)
      throw new LabError({
        code: 'experiment.policy-missing',
        what: 'The policy of a cell that this one depends on is missing',
        where: name,
        expected: 'the final policy of that cell',
        got: 'nothing',
        fix: 'Run that cell again.',
      });
    const { shape, parameters } = readModel(bytes, name);
    requireFit(shape, wanted, name);
    return parameters;
  }

  /** Required compactions by task, shared by all cells with the same tasks under the same rules. */
  private knownCompactions(config: RunConfig, seed: number): Map<number, number> {
    const rules = Object.entries(config).filter(([key]) => decidesRequired(key as ConfigName));
    const key = JSON.stringify([seed, rules]);
    const known = this.required.get(key) ?? new Map<number, number>();
    this.required.delete(key);
    this.required.set(key, known);
    if (this.required.size > MAX_KNOWN) this.required.delete(this.required.keys().next().value!);
    return known;
  }
}

/** Keys of tasks and context that change neither what the expert meets nor how it is evaluated: it may always compact. */
const irrelevant: ReadonlySet<string> = new Set(['compaction', 'maxCompactions', 'trigger', 'trainWindowScale']);

function decidesRequired(key: ConfigName): boolean {
  const { group } = configTable[key];
  return (group === 'task' || group === 'context') && !irrelevant.has(key);
}

function curveOf(records: readonly IterationRecord[]): Curve {
  return {
    envTokens: records.map((r) => r.envTokens),
    trainSuccess: records.map((r) => r.trainSuccess),
    factRecall: records.map((r) => r.factRecall),
    summaryTokens: records.map((r) => r.summaryTokens),
    compactions: records.map((r) => r.compactions),
    turns: records.map((r) => r.turns),
  };
}

function counted(alarms: readonly Alarm[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { code } of [...alarms].sort((a, b) => (a.code < b.code ? -1 : 1))) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}
