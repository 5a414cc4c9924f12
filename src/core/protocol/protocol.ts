/**
 * Messages between the trainer and whoever watches it (page, command line, store). Plain structured-cloneable data.
 */

import type { AdapterNames } from '../adapter-name';
import type { RunConfig } from '../config/config';
import type { LabErrorParts } from '../errors';
import type { CellResult } from '../experiment/experiment';
import type { KernelPlan, KernelReport } from '../kernels';
import type { IterationRecord } from '../metrics/records';
import type { ShellVersion } from '../shell-version';
import type { Rollout } from '../trajectory/trajectory';
import type { BenchProgress, BenchReport, BenchRequest } from './bench';

export type TrainerPhase = 'rollout' | 'advantages' | 'update' | 'evaluate' | 'save';
export type TrainerStatus = 'idle' | 'preparing' | 'running' | 'paused' | 'finished' | 'stopped' | 'failed';

/** Progress of one run. */
export interface Progress {
  readonly runId: string;
  readonly status: TrainerStatus;
  readonly phase: TrainerPhase | null;
  readonly iteration: number;
  readonly iterations: number;
  /** Text of what is going on now, e.g. "compiling kernels". */
  readonly note: string;
  readonly elapsedMs: number;
  /** Estimated time left; null until one iteration is done. */
  readonly remainingMs: number | null;
}

/**
 * Live view of one training rollout (slot 0). `tokens` lists token ids appended to the context; `kind` says who wrote
 * them; a `compact` event empties the context, after which the new context follows as `context` tokens.
 */
export type WatchEvent =
  | {
      readonly type: 'start';
      readonly rollout: number;
      readonly instruction: string;
      readonly window: number;
      readonly reserve: number;
      readonly turnLimit: number;
    }
  | {
      readonly type: 'tokens';
      readonly kind: 'context' | 'action' | 'observation' | 'summary';
      readonly ids: readonly number[];
      readonly text: string;
    }
  | { readonly type: 'compact'; readonly summary: string; readonly tokensBefore: number; readonly tokensAfter: number }
  | { readonly type: 'end'; readonly stop: string; readonly reward: number };

export type TrainerEvent =
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'iteration'; readonly runId: string; readonly record: IterationRecord }
  | { readonly type: 'watch'; readonly runId: string; readonly events: readonly WatchEvent[] }
  | { readonly type: 'failed'; readonly runId: string; readonly error: LabErrorParts }
  /** Something the user should know that belongs to no run, e.g. that nothing is kept. */
  | { readonly type: 'notice'; readonly notice: LabErrorParts };

/** What is known of a run before and after it is done. */
export interface RunHeader {
  readonly runId: string;
  readonly config: RunConfig;
  readonly seed: number;
  /** Preset it was started from, for display. */
  readonly preset: string | null;
  readonly createdAt: string;
  readonly adapter: string;
  readonly engine: string;
  /** Build: commit or version. */
  readonly build: string;
  /** Kernels of engine `webgpu`. Absent with other engines, and in runs of earlier versions, which used the defaults. */
  readonly kernels?: KernelPlan;
  /** Version of the terminal. Absent in runs of earlier builds, which had version 1. */
  readonly shell?: ShellVersion;
}

/** A resumable point: both models, both optimisers, counters. */
export interface Checkpoint {
  /** Iterations completed. */
  readonly iteration: number;
  readonly envTokens: number;
  readonly policy: ModelState;
  readonly critic: ModelState | null;
  readonly elapsedMs: number;
}
export interface ModelState {
  readonly parameters: Float32Array;
  readonly m: Float32Array;
  readonly v: Float32Array;
  readonly step: number;
}

/**
 * Where a run writes. Each call is durable when its promise resolves; an iteration is reported to watchers only after
 * `saveIteration` resolved.
 */
export interface Sink {
  saveHeader(header: RunHeader): Promise<void>;
  /** One transaction: metrics, trajectories and checkpoint of one iteration. */
  saveIteration(
    runId: string,
    record: IterationRecord,
    rollouts: readonly Rollout[],
    checkpoint: Checkpoint,
  ): Promise<void>;
  saveStatus(runId: string, status: TrainerStatus): Promise<void>;
  /** The last checkpoint and all records of a run; null when unknown. */
  loadRun(
    runId: string,
  ): Promise<{ header: RunHeader; records: IterationRecord[]; checkpoint: Checkpoint | null } | null>;
}

/** A run in the list a page shows. */
export interface RunSummary {
  readonly header: RunHeader;
  readonly status: TrainerStatus;
  readonly iterations: number;
  readonly lastEvalSuccess: number | null;
  /** Bytes kept on disk. */
  readonly sizeBytes: number;
  /** Another tab trains it now. */
  readonly liveElsewhere?: boolean;
}

/** Speed of the quick model where there is no graphics adapter, measured on this machine. */
export interface FallbackSpeed {
  /** Tokens sampled by 64 episodes at once, per second. */
  readonly decodeTokensPerSecond: number;
  /** Tokens of a PPO update, per second. */
  readonly updateTokensPerSecond: number;
}

/** A cell of an experiment. Untrusted: parsed by the trainer. */
export interface CellRequest {
  /** The experiment file's content. */
  readonly experiment: unknown;
  readonly setup: string;
  readonly arm: string;
  readonly seed: number;
}

/** The device as the page and `lab device` show it. */
export interface DeviceReport extends AdapterNames {
  /** Whether there is a graphics adapter; without one, runs use jax-js on WebAssembly. */
  readonly available: boolean;
  readonly features: readonly string[];
  readonly error: LabErrorParts | null;
}

/**
 * The trainer worker as the page sees it, over Comlink (src/run/worker/client.ts). One run at a time; `start`, or `resume` of
 * another run, first ends the active one, which can be resumed from its last saved iteration.
 */
export interface TrainerApi {
  device(): Promise<DeviceReport>;
  /** What was measured for choosing kernels on this adapter, by model. Empty before the first run. @throws `gpu.…` */
  kernels(): Promise<KernelReport[]>;
  /** Measures again. @param shape null: the model of the quick preset @throws `kernels.busy` while a run is active */
  measureKernels(shape: KernelReport['shape'] | null): Promise<KernelReport>;
  /** Times jax-js on WebAssembly for a second or two, after any run that begins or ends. */
  measureFallback(): Promise<FallbackSpeed>;
  /**
   * Measures the adapter, engine against engine. Resolves with what was measured, also when `cancelBench` ended it early.
   * While it lasts no run begins. @throws `bench.busy` while a run is active in some tab, `bench.running`, `gpu.…`
   */
  bench(request: BenchRequest, onProgress: (progress: BenchProgress) => void): Promise<BenchReport>;
  cancelBench(): Promise<void>;
  /**
   * Runs a cell of an experiment, and before it what it depends on. Resolves when the result is kept; null when `cancelCell`
   * ended it. While it lasts no run begins. @throws `cells.running`, `experiment.…`, `bench.busy`, `bench.running`, `gpu.…`
   */
  runCell(request: CellRequest, onProgress: (note: string) => void): Promise<CellResult | null>;
  cancelCell(): Promise<void>;
  /** Cells of an experiment (the file's content) that this browser has computed. @throws `experiment.…` */
  keptCells(experiment: unknown): Promise<CellResult[]>;
  /** Registers the listener for all events; later calls replace it. */
  subscribe(listener: (event: TrainerEvent) => void): Promise<void>;
  /** Starts a run and resolves with its id once it is recorded. */
  start(request: { config: unknown; seed: number; preset: string | null }): Promise<string>;
  /** Continues the active run if it is paused, or a stored run from its last saved iteration. */
  resume(runId: string): Promise<void>;
  pause(): Promise<void>;
  /** Runs until the next phase ends, then pauses again. Starts nothing when no run is active. */
  step(): Promise<void>;
  stop(): Promise<void>;
  listRuns(): Promise<RunSummary[]>;
  loadRecords(runId: string): Promise<IterationRecord[]>;
  loadRollouts(runId: string, iteration: number): Promise<Rollout[]>;
  /** The run as JSONL (one rollout a line), for download. */
  exportTrajectories(runId: string): Promise<Blob>;
  /** The last policy as safetensors, for download. */
  exportCheckpoint(runId: string): Promise<Blob>;
  deleteRun(runId: string): Promise<void>;
}
