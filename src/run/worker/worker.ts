/** The trainer in its own worker: owns the GPU, the terminals and the store; speaks TrainerApi over Comlink. */
import '../../env/worker-errors';
import * as Comlink from 'comlink';
import { defaultConfig, parseConfig, parseSeed } from '../../core/config/config';
import { LabError, type LabErrorParts } from '../../core/errors';
import type { CellResult } from '../../core/experiment/experiment';
import { type KernelReport, parseKernelPlan, parseKernelShape } from '../../core/kernels';
import type { IterationRecord } from '../../core/metrics/records';
import { type BenchProgress, type BenchReport, type BenchRequest, parseBenchRequest } from '../../core/protocol/bench';
import type {
  CellRequest,
  Checkpoint,
  DeviceReport,
  FallbackSpeed,
  RunHeader,
  RunSummary,
  TrainerApi,
  TrainerEvent,
} from '../../core/protocol/protocol';
import { currentShell, parseShellVersion } from '../../core/shell-version';
import { decode, VOCABULARY_SIZE } from '../../core/tokenizer/tokenizer';
import type { Rollout } from '../../core/trajectory/trajectory';
import { Turns } from '../../core/turns';
import { openStore, type Store } from '../../store';
import { presets } from '../presets/presets';
import { shapeOf } from '../presets/pretrain';
import { build } from '../session/build';
import { keptReports, type MeasureOptions, measuredChoice, planFor } from '../session/kernel-plan';
import { writeModel } from '../session/model-file';
import { loadBase, type Machine } from '../session/session';
import { nothingSaved, provenance } from '../trainer/run-export';
import { type ActiveRun, launch } from './active-run';
import { fetchBase } from './base-file';
import { CellDesk } from './cell-desk';
import { benchRunning, Desk } from './desk';
import { DeviceSlot } from './device-slot';
import { machineForNew, machineForStored } from './machines';
import { heldRuns, holdBench, holdRun, type Release, requireNoBench } from './run-lock';

class TrainerService implements TrainerApi {
  private listener: (event: TrainerEvent) => void = () => {};
  private readonly slot = new DeviceSlot((message) => this.deviceLost(message));
  private subscribed = false;
  /** Notices from before the page listened. */
  private readonly early: LabErrorParts[] = [];
  private readonly store: Promise<Store> = this.open();
  private active: ActiveRun | null = null;
  /** The run whose lock this tab holds. */
  private lockedId: string | null = null;
  /** Runs begin and end one at a time: two calls at once must not leave two runs on the device. */
  private readonly turns = new Turns();
  private readonly desk = new Desk(() => benchRunning('another bench cell measures'));
  private readonly cells = new CellDesk({
    store: this.store,
    context: (engine) => machineForNew(() => this.slot.get(), engine).then(({ context }) => context),
    measuring: () => this.measuring(),
    hold: () => this.hold(),
  });

  device(): Promise<DeviceReport> {
    return this.slot.report();
  }
  async kernels(): Promise<KernelReport[]> {
    const { adapter } = await this.slot.get();
    return keptReports(adapter, await this.measuring());
  }

  measureKernels(shape: KernelReport['shape'] | null): Promise<KernelReport> {
    return this.turns.take(async () => {
      this.requireNoRun('kernels.busy');
      await requireNoBench();
      const model = shape ?? shapeOf(parseConfig(presets.quick.config), VOCABULARY_SIZE);
      return measuredChoice(await this.slot.get(), parseKernelShape(model), {
        ...(await this.measuring()),
        fresh: true,
      });
    });
  }

  async bench(request: BenchRequest, onProgress: (progress: BenchProgress) => void): Promise<BenchReport> {
    const wanted = parseBenchRequest(request);
    return this.desk.take(async (signal) => {
      const release = await this.hold();
      try {
        const { runBench } = await import('../measure/measure');
        return await runBench(await this.slot.get(), wanted, {
          ...(await this.measuring()),
          signal,
          onBench: onProgress,
        });
      } finally {
        await release();
      }
    });
  }
  async cancelBench(): Promise<void> {
    this.desk.cancel();
  }

  runCell(request: CellRequest, onProgress: (note: string) => void): Promise<CellResult | null> {
    return this.cells.run(request, onProgress);
  }
  async cancelCell(): Promise<void> {
    this.cells.cancel();
  }
  keptCells(experiment: unknown): Promise<CellResult[]> {
    return this.cells.kept(experiment);
  }

  /** Takes the device, in turn with runs that begin; from then on the lock keeps them away. */
  private hold(): Promise<Release> {
    return this.turns.take(async () => {
      this.requireNoRun('bench.busy');
      return holdBench();
    });
  }

  private requireNoRun(code: string): void {
    if (!this.active || this.active.fate.ending) return;
    throw new LabError({
      code,
      what: 'A run occupies the graphics device, so nothing can be measured on it',
      where: this.active.header.runId,
      fix: 'Stop the run, measure, and resume it; it keeps the kernels it began with.',
    });
  }

  /** How this page measures: into its store; what is wrong with that goes to the page. */
  private async measuring(): Promise<MeasureOptions> {
    return { cache: await this.store, onNotice: (notice) => this.tell(notice) };
  }

  measureFallback(): Promise<FallbackSpeed> {
    // In turn with runs that begin: they would share the processor.
    return this.turns.take(async () => (await import('../measure/fallback-speed')).measureFallback());
  }

  async subscribe(listener: (event: TrainerEvent) => void): Promise<void> {
    this.listener = listener;
    this.subscribed = true;
    for (const notice of this.early.splice(0)) listener({ type: 'notice', notice });
  }

  start(request: { config: unknown; seed: number; preset: string | null }): Promise<string> {
    return this.turns.take(async () => {
      const config = parseConfig(request.config);
      const seed = parseSeed(request.seed);
      await requireNoBench();
      await this.release();
      const machine = await machineForNew(() => this.slot.get(), config.engine);
      const { shape } = await loadBase(config, seed, fetchBase);
      const kernels = await planFor(machine, shape, config, await this.measuring());
      const createdAt = new Date().toISOString();
      const header: RunHeader = {
        runId: `${createdAt.replace(/[^0-9]/g, '').slice(0, 17)}-${crypto.randomUUID().slice(0, 8)}`,
        config,
        seed,
        preset: request.preset,
        createdAt,
        adapter: machine.adapter,
        engine: machine.engine,
        build,
        ...(kernels && { kernels }),
        shell: currentShell,
      };
      // Before the run is listed: no other tab may take it for an interrupted one.
      await this.locked(header.runId, async (lock) => {
        await (await this.store).saveHeader(header);
        await this.launch(header, machine, null, lock);
      });
      return header.runId;
    });
  }

  resume(runId: string): Promise<void> {
    return this.turns.take(async () => {
      if (this.active?.header.runId === runId && !this.active.fate.ending) {
        this.active.trainer.resume();
        return;
      }
      await requireNoBench();
      await this.release();
      // Read under the lock: another tab may train it up to then.
      await this.locked(runId, async (lock) => {
        const stored = await (await this.store).loadRun(runId);
        if (!stored)
          throw new LabError({
            code: 'run.unknown',
            what: 'There is no such run',
            where: runId,
            fix: 'Choose a run from the list.',
          });
        // Parsed again: the run may have been stored by a build with other configuration keys.
        const { kernels } = stored.header;
        const header: RunHeader = {
          ...stored.header,
          config: parseConfig(stored.header.config),
          ...(kernels && { kernels: parseKernelPlan(kernels, runId) }),
          shell: parseShellVersion(stored.header.shell, runId),
        };
        await this.launch(header, await machineForStored(() => this.slot.get(), header), stored.checkpoint, lock);
      });
    });
  }

  async pause(): Promise<void> {
    this.active?.trainer.pause();
  }
  async step(): Promise<void> {
    this.active?.trainer.step();
  }
  stop(): Promise<void> {
    return this.turns.take(() => this.release());
  }
  async listRuns(): Promise<RunSummary[]> {
    const runs = await (await this.store).listRuns();
    const held = await heldRuns();
    return runs.map((stored) => {
      const { runId, config } = stored.header;
      // Keys that came after the run have their defaults: the page compares configurations.
      const run = { ...stored, header: { ...stored.header, config: { ...defaultConfig, ...config } } };
      return held.has(runId) && runId !== this.lockedId ? { ...run, liveElsewhere: true } : run;
    });
  }
  async loadRecords(runId: string): Promise<IterationRecord[]> {
    return (await this.store).loadRecords(runId);
  }
  async loadRollouts(runId: string, iteration: number): Promise<Rollout[]> {
    return (await this.store).loadRollouts(runId, iteration);
  }
  async exportTrajectories(runId: string): Promise<Blob> {
    const lines = await (await this.store).exportTrajectories(runId, (ids) => decode(ids));
    if (lines.size === 0) throw nothingSaved(runId);
    return lines;
  }
  async exportCheckpoint(runId: string): Promise<Blob> {
    const stored = await (await this.store).loadRun(runId);
    if (!stored?.checkpoint) throw nothingSaved(runId);
    const { header, checkpoint } = stored;
    const { shape } = await loadBase(header.config, header.seed, fetchBase);
    const bytes = writeModel(shape, checkpoint.policy.parameters, provenance(header, checkpoint));
    return new Blob([bytes], { type: 'application/octet-stream' });
  }
  deleteRun(runId: string): Promise<void> {
    return this.turns.take(async () => {
      if (this.active?.header.runId === runId) await this.release();
      const lock = await holdRun(runId);
      try {
        await (await this.store).deleteRun(runId);
      } finally {
        await lock();
      }
    });
  }

  /** Whatever fails after that is a consequence: the run ends here. */
  private deviceLost(message: string): void {
    const run = this.active;
    if (!run) return;
    run.fate.ending = true;
    run.fate.lost = true;
    run.trainer.stop();
    this.listener({
      type: 'failed',
      runId: run.header.runId,
      error: {
        code: 'gpu.lost',
        what: `The graphics device was lost: ${message}`,
        fix: 'Press Resume: the run continues from its last saved iteration.',
      },
    });
  }

  /** Ends the active run, keeping what is saved. */
  private async release(): Promise<void> {
    const run = this.active;
    if (!run) return;
    run.trainer.stop();
    await run.done;
  }

  /** Opens the store; what it has to say, also that it keeps nothing, goes to the page. */
  private async open(): Promise<Store> {
    const store = await openStore({ onNotice: (notice) => this.tell(notice) });
    if (store.volatile) this.tell(store.volatile);
    return store;
  }

  private tell(notice: LabErrorParts): void {
    if (this.subscribed) this.listener({ type: 'notice', notice });
    else this.early.push(notice);
  }

  /** Takes a run for this tab and begins it. @throws LabError run.elsewhere, bench.running */
  private async locked(runId: string, begin: (lock: Release) => Promise<void>): Promise<void> {
    const release = await holdRun(runId);
    this.lockedId = runId;
    const lock = async () => {
      await release();
      this.lockedId = null;
    };
    try {
      // Again, now that measurements see the run: one may have begun in another tab since the first look.
      await requireNoBench();
      await begin(lock);
    } catch (thrown) {
      await lock();
      throw thrown;
    }
  }

  private async launch(
    header: RunHeader,
    machine: Machine,
    checkpoint: Checkpoint | null,
    lock: Release,
  ): Promise<void> {
    this.active = await launch(header, checkpoint, {
      machine,
      store: await this.store,
      lock,
      listener: (event) => this.listener(event),
      onClose: () => {
        this.active = null;
      },
    });
  }
}

Comlink.expose(new TrainerService());
