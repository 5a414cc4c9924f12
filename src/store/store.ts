/** Runs, metrics, trajectories, checkpoints and drafts, on any database. The trainer's `Sink`, and what a page lists. */
import { LabError } from '../core/errors';
import type { IterationRecord } from '../core/metrics/records';
import type { Checkpoint, ModelState, RunHeader, RunSummary, Sink, TrainerStatus } from '../core/protocol/protocol';
import type { Rollout } from '../core/trajectory/trajectory';
import { rolloutLine } from '../core/trajectory/trajectory-jsonl';
import type { Database, Transaction } from './database';
import { askPersistence } from './persistence';
import { chunkBytes, packRollouts, unpackRollouts } from './rollout-chunk';
import type { CheckpointRow, DraftRow, IterationRow, RunRow } from './schema';
import { storageUsage, type Usage } from './store-errors';

export interface StoreOptions {
  /** Keep the checkpoint of every k-th iteration besides the last one; 0 = the last only. */
  readonly keepCheckpointEvery?: number;
}

/** A run as the store lists it. */
export interface StoredRun extends RunSummary {
  /** When it was last saved, ISO 8601. */
  readonly savedAt: string;
}

/** A draft without its document. */
export type DraftSummary = Omit<DraftRow, 'value'>;

const RUN_TABLES = ['runs', 'iterations', 'rollouts', 'checkpoints'] as const;

/**
 * The store. Each write is one transaction and on disk when its promise resolves; nothing is ever removed but by
 * `deleteRun` and `deleteDraft`, checkpoints before the last one aside (`keepCheckpointEvery`).
 */
export class Store implements Sink {
  constructor(
    private readonly database: Database,
    private readonly options: StoreOptions = {},
  ) {}

  /** Whether runs survive the tab. */
  get persistent(): boolean {
    return this.database.volatile === null;
  }

  /** Why they do not; null when they do. */
  get volatile(): Database['volatile'] {
    return this.database.volatile;
  }

  async saveHeader(header: RunHeader): Promise<void> {
    void askPersistence();
    await this.database.write(['runs'], async (transaction) => {
      const known = await transaction.get('runs', [header.runId]);
      const fresh = { status: 'idle', iterations: 0, lastEvalSuccess: null, sizeBytes: 0, checkpointAt: null } as const;
      await transaction.put('runs', [header.runId], { ...(known ?? fresh), header, savedAt: now() });
    });
  }

  /**
   * Saves one iteration: metrics, trajectories, checkpoint, and the run's own row. Saving the same iteration again replaces
   * it, so a repeated call after a lost connection does no harm.
   * @throws LabError store.unknown-run; store.conflict when the run has gone further, in another tab; store.quota
   */
  async saveIteration(
    runId: string,
    record: IterationRecord,
    rollouts: readonly Rollout[],
    checkpoint: Checkpoint,
  ): Promise<void> {
    // All rows are made before the transaction opens: it would commit while we are still packing.
    const at = checkpoint.iteration;
    const chunks = packRollouts(rollouts);
    const recordBytes = JSON.stringify(record).length;
    const row: IterationRow = {
      record,
      chunks: chunks.length,
      rollouts: rollouts.length,
      sizeBytes: chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), recordBytes),
    };
    const checkpointRow = makeCheckpointRow(checkpoint);
    const save = async (transaction: Transaction): Promise<void> => {
      const run = requireRun(await transaction.get('runs', [runId]), runId);
      if (at < run.iterations) throw conflict(run, at);
      const replaced = await transaction.get('iterations', [runId, at]);
      await transaction.deletePrefix('rollouts', [runId, at]);
      await transaction.put('iterations', [runId, at], row);
      for (const [i, chunk] of chunks.entries()) await transaction.put('rollouts', [runId, at, i], chunk);
      const freedBytes = await this.replaceCheckpoint(transaction, runId, run, checkpointRow);
      await transaction.put('runs', [runId], {
        ...run,
        iterations: at,
        lastEvalSuccess: record.evalComp?.success ?? run.lastEvalSuccess,
        sizeBytes: run.sizeBytes + row.sizeBytes - (replaced?.sizeBytes ?? 0) + checkpointRow.sizeBytes - freedBytes,
        checkpointAt: at,
        savedAt: now(),
      });
    };
    await this.database.write(RUN_TABLES, save, row.sizeBytes + checkpointRow.sizeBytes);
  }

  async saveStatus(runId: string, status: TrainerStatus): Promise<void> {
    await this.database.write(['runs'], async (transaction) => {
      const run = requireRun(await transaction.get('runs', [runId]), runId);
      await transaction.put('runs', [runId], { ...run, status, savedAt: now() });
    });
  }

  /** Everything needed to show or continue a run; null when there is no such run. */
  async loadRun(
    runId: string,
  ): Promise<{ header: RunHeader; records: IterationRecord[]; checkpoint: Checkpoint | null } | null> {
    return this.database.read(['runs', 'iterations', 'checkpoints'], async (transaction) => {
      const run = await transaction.get('runs', [runId]);
      if (!run) return null;
      const records: IterationRecord[] = [];
      await transaction.scan('iterations', [runId], (row) => records.push(row.record));
      const saved = run.checkpointAt === null ? null : await transaction.get('checkpoints', [runId, run.checkpointAt]);
      return { header: run.header, records, checkpoint: saved?.checkpoint ?? null };
    });
  }

  /** All runs, the newest first. A run whose tab was closed is still listed as `running`: offer to resume it. */
  async listRuns(): Promise<StoredRun[]> {
    const runs: StoredRun[] = [];
    await this.database.read(['runs'], (transaction) =>
      transaction.scan('runs', [], ({ header, status, iterations, lastEvalSuccess, sizeBytes, savedAt }) =>
        runs.push({ header, status, iterations, lastEvalSuccess, sizeBytes, savedAt }),
      ),
    );
    return runs.sort((a, b) => b.header.createdAt.localeCompare(a.header.createdAt));
  }

  /** Metrics of a run, in order. */
  async loadRecords(runId: string): Promise<IterationRecord[]> {
    const records: IterationRecord[] = [];
    await this.database.read(['iterations'], (transaction) =>
      transaction.scan('iterations', [runId], (row) => records.push(row.record)),
    );
    return records;
  }

  /**
   * Trajectories of one iteration, in the order they were saved.
   * @param iteration `IterationRecord.iteration`
   */
  async loadRollouts(runId: string, iteration: number): Promise<Rollout[]> {
    const at = (await this.savedIterations(runId)).find((saved) => saved.iteration === iteration);
    const rollouts: Rollout[] = [];
    if (at) for await (const part of this.eachChunk(runId, at)) rollouts.push(...part);
    return rollouts;
  }

  /** A checkpoint that was kept (`keepCheckpointEvery`), by iterations completed; null when it was not. */
  async loadCheckpoint(runId: string, iterations: number): Promise<Checkpoint | null> {
    const row = await this.database.read(['checkpoints'], (t) => t.get('checkpoints', [runId, iterations]));
    return row?.checkpoint ?? null;
  }

  /**
   * The run's trajectories as JSON lines, one rollout a line. One chunk is in memory at a time, and the browser may keep the
   * parts of a Blob on disk.
   * @param decode text of a segment's token ids
   * @throws LabError store.unknown-run
   */
  async exportTrajectories(runId: string, decode?: (ids: Uint16Array) => string): Promise<Blob> {
    requireRun(await this.database.read(['runs'], (transaction) => transaction.get('runs', [runId])), runId);
    const parts: Blob[] = [];
    for (const saved of await this.savedIterations(runId)) {
      for await (const rollouts of this.eachChunk(runId, saved))
        parts.push(new Blob(rollouts.map((rollout) => `${rolloutLine(rollout, decode)}\n`)));
    }
    return new Blob(parts, { type: 'application/jsonl' });
  }

  /** Removes a run and everything of it, in one transaction. Unknown runs are no error. */
  async deleteRun(runId: string): Promise<void> {
    await this.database.write(RUN_TABLES, async (transaction) => {
      for (const table of RUN_TABLES) await transaction.deletePrefix(table, [runId]);
    });
  }

  /** Saves a notebook that is being edited. The value must be structured-cloneable. */
  async saveDraft(id: string, title: string, value: unknown): Promise<void> {
    await this.database.write(['drafts'], (transaction) =>
      transaction.put('drafts', [id], { id, title, value, savedAt: now() }),
    );
  }

  /** A draft as it was saved, unparsed; null when there is none. */
  async loadDraft(id: string): Promise<DraftRow | null> {
    return (await this.database.read(['drafts'], (transaction) => transaction.get('drafts', [id]))) ?? null;
  }

  /** All drafts, the last saved first. */
  async listDrafts(): Promise<DraftSummary[]> {
    const drafts: DraftSummary[] = [];
    await this.database.read(['drafts'], (transaction) =>
      transaction.scan('drafts', [], ({ id, title, savedAt }) => drafts.push({ id, title, savedAt })),
    );
    return drafts.sort((a, b) => b.savedAt.localeCompare(a.savedAt));
  }

  async deleteDraft(id: string): Promise<void> {
    await this.database.write(['drafts'], (transaction) => transaction.delete('drafts', [id]));
  }

  /** Keeps a measured choice of kernels; other versions of the kernels of that adapter are forgotten. */
  async saveKernels(adapter: string, version: string, model: string, report: unknown): Promise<void> {
    await this.database.write(['kernels'], async (transaction) => {
      for (const key of await transaction.keys('kernels', [adapter]))
        if (key[1] !== version) await transaction.delete('kernels', key);
      await transaction.put('kernels', [adapter, version, model], { report });
    });
  }

  /** The measured choices of an adapter and version by model, unparsed. */
  async loadKernels(adapter: string, version: string): Promise<Map<string, unknown>> {
    const reports = new Map<string, unknown>();
    await this.database.read(['kernels'], (transaction) =>
      transaction.scan('kernels', [adapter, version], ({ report }, key) => reports.set(String(key[2]), report)),
    );
    return reports;
  }

  /** Keeps the result of a cell of an experiment; it replaces an earlier one of the same name. */
  async saveCell(experiment: string, cell: string, result: unknown): Promise<void> {
    await this.database.write(['cells'], (transaction) => transaction.put('cells', [experiment, cell], { result }));
  }

  /** All results of an experiment, unparsed. */
  async loadCells(experiment: string): Promise<unknown[]> {
    const results: unknown[] = [];
    await this.database.read(['cells'], (transaction) =>
      transaction.scan('cells', [experiment], ({ result }) => results.push(result)),
    );
    return results;
  }

  /** Keeps the final policy of a cell, which other cells of the experiment may need. */
  async savePolicy(experiment: string, cell: string, bytes: Uint8Array): Promise<void> {
    await this.database.write(
      ['policies'],
      (transaction) => transaction.put('policies', [cell], { experiment, bytes }),
      bytes.byteLength,
    );
  }

  /** Null when there is none. */
  async loadPolicy(cell: string): Promise<Uint8Array | null> {
    return (await this.database.read(['policies'], (t) => t.get('policies', [cell])))?.bytes ?? null;
  }

  /** Room used and allowed on this origin, as the browser tells it. */
  usage(): Promise<Usage> {
    return storageUsage();
  }

  /** Lets go of the database; every later call fails. */
  close(): void {
    this.database.close();
  }

  private async savedIterations(runId: string): Promise<{ at: number; iteration: number; chunks: number }[]> {
    const list: { at: number; iteration: number; chunks: number }[] = [];
    await this.database.read(['iterations'], (transaction) =>
      transaction.scan('iterations', [runId], ({ record, chunks }, key) =>
        list.push({ at: key[1] as number, iteration: record.iteration, chunks }),
      ),
    );
    return list;
  }

  private async *eachChunk(runId: string, { at, chunks }: { at: number; chunks: number }): AsyncGenerator<Rollout[]> {
    for (let i = 0; i < chunks; i++) {
      // A transaction each: nothing is locked while the caller works on what it got.
      const chunk = await this.database.read(['rollouts'], (transaction) =>
        transaction.get('rollouts', [runId, at, i]),
      );
      if (chunk) yield unpackRollouts(chunk);
    }
  }

  /** Puts the new checkpoint and drops the one before it unless it is to be kept. @returns bytes freed */
  private async replaceCheckpoint(
    transaction: Transaction,
    runId: string,
    run: RunRow,
    row: CheckpointRow,
  ): Promise<number> {
    const { keepCheckpointEvery: every = 0 } = this.options;
    const before = run.checkpointAt;
    const at = row.checkpoint.iteration;
    let freedBytes = 0;
    if (before !== null && (before === at || every === 0 || before % every !== 0)) {
      freedBytes = (await transaction.get('checkpoints', [runId, before]))?.sizeBytes ?? 0;
      await transaction.delete('checkpoints', [runId, before]);
    }
    await transaction.put('checkpoints', [runId, at], row);
    return freedBytes;
  }
}

function now(): string {
  return new Date().toISOString();
}

function makeCheckpointRow(checkpoint: Checkpoint): CheckpointRow {
  const policy = ownArrays(checkpoint.policy);
  const critic = checkpoint.critic && ownArrays(checkpoint.critic);
  const floats = [policy, critic].reduce((sum, model) => sum + (model ? 3 * model.parameters.length : 0), 0);
  return { checkpoint: { ...checkpoint, policy, critic }, sizeBytes: 4 * floats };
}

/** Copies views: storing a view would store the whole buffer under it. */
function ownArrays({ parameters, m, v, step }: ModelState): ModelState {
  const own = (array: Float32Array) => (array.byteLength === array.buffer.byteLength ? array : array.slice());
  return { parameters: own(parameters), m: own(m), v: own(v), step };
}

function requireRun(run: RunRow | undefined, runId: string): RunRow {
  if (run) return run;
  throw new LabError({
    code: 'store.unknown-run',
    what: 'There is no such run',
    where: runId,
    fix: 'It may have been deleted in another tab. Choose one from My runs, or start a new one.',
  });
}

function conflict(run: RunRow, at: number): LabError {
  return new LabError({
    code: 'store.conflict',
    what: 'This run has gone further in another tab; nothing was overwritten',
    where: run.header.runId,
    expected: `iteration ${run.iterations} or later`,
    got: `iteration ${at}`,
    fix: 'Go on in the other tab, or resume the run here from its last saved iteration.',
  });
}
