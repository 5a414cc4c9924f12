/**
 * A trainer without training: plays a plausible run on a timer, so that the page can be looked at and tested without a GPU.
 * Deterministic. Used by tests only.
 */

import { parseConfig, type RunConfig } from '../../../src/core/config/config';
import type { CellResult, Experiment } from '../../../src/core/experiment/experiment';
import type { KernelReport } from '../../../src/core/kernels';
import type { IterationRecord } from '../../../src/core/metrics/records';
import type { BenchProgress, BenchReport, BenchRequest } from '../../../src/core/protocol/bench';
import type {
  CellRequest,
  DeviceReport,
  FallbackSpeed,
  Progress,
  RunSummary,
  TrainerApi,
  TrainerEvent,
  TrainerStatus,
} from '../../../src/core/protocol/protocol';
import { fakeBench } from './fake-bench';
import { fakeCell } from './fake-results';
import { fakeEpisode, fakeKernels, fakeRecord } from './fake-run';

export interface FakeOptions {
  /** Time of one iteration. */
  readonly iterationMs?: number;
  readonly available?: boolean;
  /** Measures the speed without an adapter. */
  readonly fallback?: () => Promise<FallbackSpeed>;
  /** Iteration that fails. */
  readonly failAt?: number;
  /** Iteration that raises an alarm. */
  readonly alarmAt?: number;
  /** Moves the success of cells that are run. */
  readonly cellShift?: number;
  /** Time of one row of a measurement, and of one cell, ms. */
  readonly benchMs?: number;
  /** How long it takes to hear Pause, Step and Stop, ms. */
  readonly reactMs?: number;
}

/** @param runs runs that are stored already */
export class FakeTrainer implements TrainerApi {
  readonly calls: string[] = [];
  #listener: (event: TrainerEvent) => void = () => {};
  #runs = new Map<string, { summary: RunSummary; records: IterationRecord[] }>();
  #active: string | null = null;
  #kernels: KernelReport[] = [];
  #benching = false;
  #cancelled = false;
  /** Cells that are kept, with the experiment they belong to. */
  readonly cells: [string, CellResult][] = [];
  #status: TrainerStatus = 'idle';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly options: FakeOptions = {}) {}

  /** Puts a run of `iterations` completed iterations into the store. */
  seed(runId: string, preset: string, config: RunConfig, iterations: number, status: TrainerStatus, seed = 1): void {
    const records = Array.from({ length: iterations }, (_, i) => fakeRecord(i + 1, config));
    this.#runs.set(runId, {
      records,
      summary: {
        header: {
          runId,
          config,
          seed,
          preset,
          createdAt: '2026-11-29T16:20:00.000Z',
          adapter: 'fake',
          engine: 'webgpu',
          build: 'test',
        },
        status,
        iterations,
        lastEvalSuccess: 0.41,
        sizeBytes: 3_400_000,
      },
    });
  }

  /** Says that another tab trains a stored run, or no longer does. */
  elsewhere(runId: string, liveElsewhere: boolean): void {
    const run = this.#runs.get(runId);
    if (run) run.summary = { ...run.summary, liveElsewhere };
  }
  notice(code: string, what: string): void {
    this.#listener({ type: 'notice', notice: { code, what } });
  }

  async device(): Promise<DeviceReport> {
    const available = this.options.available ?? true;
    return {
      available,
      description: available ? 'SwiftShader (software)' : '',
      vendor: 'google',
      architecture: 'swiftshader',
      software: available,
      features: [],
      error: available ? null : { code: 'gpu.no-adapter', what: 'The browser has no graphics adapter' },
    };
  }
  async kernels(): Promise<KernelReport[]> {
    return this.#kernels;
  }
  async measureKernels(shape: KernelReport['shape'] | null): Promise<KernelReport> {
    this.calls.push('measureKernels');
    const report = fakeKernels(this.calls.filter((call) => call === 'measureKernels').length);
    this.#kernels = [shape ? { ...report, shape } : report];
    return this.#kernels[0]!;
  }
  async measureFallback(): Promise<FallbackSpeed> {
    this.calls.push('measureFallback');
    return this.options.fallback?.() ?? { decodeTokensPerSecond: 31_234, updateTokensPerSecond: 42_345 };
  }
  async bench(request: BenchRequest, onProgress: (progress: BenchProgress) => void): Promise<BenchReport> {
    this.calls.push(`bench ${request.models.join()}`);
    this.#benching = true;
    const rows = 3 * request.models.length;
    for (let done = 0; done < rows && this.#benching; done++) {
      const report = fakeBench(request, done);
      onProgress({ report, note: `row ${done}`, share: done / rows, remainingMs: done > 0 ? 65_000 : null });
      await new Promise((resolve) => setTimeout(resolve, this.options.benchMs ?? 20));
    }
    const report = fakeBench(request, this.#benching ? rows : 1);
    this.#benching = false;
    return report;
  }
  async cancelBench(): Promise<void> {
    this.calls.push('cancelBench');
    this.#benching = false;
  }
  async subscribe(listener: (event: TrainerEvent) => void): Promise<void> {
    this.#listener = listener;
  }
  async start({ config, seed, preset }: { config: unknown; seed: number; preset: string | null }): Promise<string> {
    this.calls.push('start');
    const runId = `run-${this.#runs.size + 1}`;
    this.seed(runId, preset ?? 'quick', parseConfig(config), 0, 'running', seed);
    this.#go(runId);
    return runId;
  }
  async runCell(
    { experiment, setup, arm, seed }: CellRequest,
    onProgress: (note: string) => void,
  ): Promise<CellResult | null> {
    this.calls.push(`cell ${setup} ${arm} ${seed}`);
    onProgress('iteration 3 of 12, update');
    this.#cancelled = false;
    await new Promise((resolve) => setTimeout(resolve, this.options.benchMs ?? 100));
    if (this.#cancelled) return null;
    const result = fakeCell(setup, arm, seed, this.options.cellShift ?? 0);
    this.cells.push([(experiment as Experiment).id, result]);
    return result;
  }
  async cancelCell(): Promise<void> {
    this.calls.push('cancelCell');
    this.#cancelled = true;
  }
  async keptCells(experiment: unknown): Promise<CellResult[]> {
    return this.cells.filter(([id]) => id === (experiment as Experiment).id).map(([, cell]) => cell);
  }
  async resume(runId: string): Promise<void> {
    this.calls.push('resume');
    this.#go(runId);
  }
  async pause(): Promise<void> {
    this.calls.push('pause');
    // As the real one: the call returns at once, the run pauses later.
    if (this.options.reactMs) setTimeout(() => this.#set('paused'), this.options.reactMs);
    else this.#set('paused');
  }
  async step(): Promise<void> {
    this.calls.push('step');
    this.#set('running');
    const finish = () => {
      this.#iterate();
      this.#set('paused');
    };
    if (this.options.reactMs) setTimeout(finish, this.options.reactMs);
    else finish();
  }
  async stop(): Promise<void> {
    this.calls.push('stop');
    if (this.options.reactMs) await new Promise((resolve) => setTimeout(resolve, this.options.reactMs));
    this.#set('stopped');
    this.#active = null;
  }
  async listRuns(): Promise<RunSummary[]> {
    return [...this.#runs.values()].map((r) => r.summary);
  }
  async loadRecords(runId: string): Promise<IterationRecord[]> {
    return [...(this.#runs.get(runId)?.records ?? [])];
  }
  async loadRollouts(): Promise<never[]> {
    return [];
  }
  async exportTrajectories(): Promise<Blob> {
    return new Blob(['{}\n']);
  }
  async exportCheckpoint(): Promise<Blob> {
    return new Blob(['{}']);
  }
  async deleteRun(runId: string): Promise<void> {
    this.calls.push(`delete ${runId}`);
    this.#runs.delete(runId);
  }

  #go(runId: string): void {
    this.#active = runId;
    this.#set('running');
    this.#tick();
  }
  #tick(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#status === 'running') {
        this.#iterate();
        this.#tick();
      }
    }, this.options.iterationMs ?? 400);
  }
  #iterate(): void {
    const run = this.#active === null ? undefined : this.#runs.get(this.#active);
    if (!run || this.#active === null) return;
    const { config } = run.summary.header;
    const i = run.records.length + 1;
    if (i === this.options.failAt) {
      this.#listener({
        type: 'failed',
        runId: this.#active,
        error: {
          code: 'gpu.lost',
          what: 'The graphics device was lost',
          where: 'iteration 3, update',
          expected: 'a device that stays',
          got: 'reason: unknown',
          fix: 'Press Resume: the run goes on from its last saved iteration.',
        },
      });
      this.#set('failed');
      return;
    }
    let record = fakeRecord(i, config);
    if (i === this.options.alarmAt)
      record = { ...record, alarms: [{ code: 'kl-limit', message: 'KL 0.31 passed its limit 0.2' }] };
    run.records.push(record);
    run.summary = { ...run.summary, iterations: i };
    this.#listener({ type: 'watch', runId: this.#active, events: fakeEpisode(i, config) });
    this.#listener({ type: 'iteration', runId: this.#active, record });
    this.#set(i >= config.iterations ? 'finished' : this.#status);
  }
  #set(status: TrainerStatus): void {
    this.#status = status;
    const run = this.#active === null ? undefined : this.#runs.get(this.#active);
    if (!run) return;
    const done = run.records.length;
    const { iterations } = run.summary.header.config;
    run.summary = { ...run.summary, status };
    const progress: Progress = {
      runId: run.summary.header.runId,
      status,
      phase: status === 'running' ? 'rollout' : null,
      iteration: done,
      iterations,
      note: '',
      elapsedMs: done * 1200,
      remainingMs: done > 0 ? (iterations - done) * 1200 : null,
    };
    this.#listener({ type: 'progress', progress });
  }
}
