/** Tables and rows of the store, and the migrations that lead to them. */
import type { IterationRecord } from '../core/metrics/records';
import type { Checkpoint, RunHeader, TrainerStatus } from '../core/protocol/protocol';
import type { RolloutChunk } from './rollout-chunk';

export const DATABASE_NAME = 'compaction-lab';

/** Key [runId]. */
export interface RunRow {
  readonly header: RunHeader;
  readonly status: TrainerStatus;
  /** Iterations completed and saved. */
  readonly iterations: number;
  readonly lastEvalSuccess: number | null;
  /** Bytes of the run's trajectories and checkpoints, metrics included by their JSON length. */
  readonly sizeBytes: number;
  /** Iteration of the newest checkpoint; null before the first. */
  readonly checkpointAt: number | null;
  /** ISO 8601. */
  readonly savedAt: string;
}

/** Key [runId, iterations completed]. */
export interface IterationRow {
  readonly record: IterationRecord;
  readonly chunks: number;
  readonly rollouts: number;
  /** Bytes of this iteration's record and rollouts. */
  readonly sizeBytes: number;
}

/** Key [runId, iterations completed]. */
export interface CheckpointRow {
  readonly checkpoint: Checkpoint;
  readonly sizeBytes: number;
}

/** Key [id]. A notebook as it is being edited. The value is parsed by whoever loads it: src/notebook `parseDocument`. */
export interface DraftRow {
  readonly id: string;
  readonly title: string;
  readonly value: unknown;
  /** ISO 8601. */
  readonly savedAt: string;
}

/** Key [adapter, kernel version, model]. A measured choice of kernels, parsed by whoever loads it: core `parseKernelReport`. */
export interface KernelRow {
  readonly report: unknown;
}

/** Key [experiment, cell]. The result of a cell, parsed by whoever loads it: core `parseCellResult`. */
export interface CellRow {
  readonly result: unknown;
}

/** Key [cell]. The final policy of a cell as safetensors. */
export interface PolicyRow {
  readonly experiment: string;
  readonly bytes: Uint8Array;
}

export interface TableRows {
  runs: RunRow;
  iterations: IterationRow;
  /** Key [runId, iterations completed, chunk]. */
  rollouts: RolloutChunk;
  checkpoints: CheckpointRow;
  drafts: DraftRow;
  kernels: KernelRow;
  cells: CellRow;
  policies: PolicyRow;
}
export type TableName = keyof TableRows;

/** Brings the database one version further. Runs inside the upgrade transaction: await nothing but its requests. */
export type Migration = (database: IDBDatabase, transaction: IDBTransaction) => void | Promise<void>;

/**
 * `migrations[n]` leads from version n to n + 1. A released migration never changes; a new schema is a new entry, with a
 * test that reads test/fixtures/store-v1.json through it.
 */
export const migrations: readonly Migration[] = [
  (database) => {
    for (const table of ['runs', 'iterations', 'rollouts', 'checkpoints', 'drafts']) database.createObjectStore(table);
  },
  (database) => {
    database.createObjectStore('kernels');
  },
  (database) => {
    for (const table of ['cells', 'policies']) database.createObjectStore(table);
  },
];
