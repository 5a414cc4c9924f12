/**
 * A run as files: config.json, metrics.jsonl, trajectories.jsonl, checkpoint.safetensors, policy.safetensors. An iteration is durable
 * once its checkpoint is renamed into place; lines of an iteration that was cut off before that are dropped on resume.
 */
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LabError } from '../core/errors';
import type { Checkpoint, IterationRecord, RunHeader, Sink, TrainerStatus } from '../core/protocol';
import { decode } from '../core/tokenizer';
import type { Rollout } from '../core/trajectory';
import { rolloutLine } from '../core/trajectory-jsonl';
import type { ModelShape } from '../model/parameters';
import { readTrainingState, writeModel, writeTrainingState } from '../run/model-file';

const files = {
  header: 'config.json',
  metrics: 'metrics.jsonl',
  trajectories: 'trajectories.jsonl',
  checkpoint: 'checkpoint.safetensors',
  policy: 'policy.safetensors',
} as const;

/** Writes the bytes next to the target, flushes them, and renames: a reader sees the old file or the new one. */
async function writeAtomically(path: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(`${path}.partial`, 'w');
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.partial`, path);
}

async function appendDurably(path: string, text: string): Promise<void> {
  const handle = await open(path, 'a');
  try {
    await handle.appendFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Sink to a folder; one run per folder. */
export class FileSink implements Sink {
  private shape: ModelShape | null = null;
  constructor(readonly folder: string) {}

  /** Must be called before the first save: checkpoints are written with named tensors. */
  useShape(shape: ModelShape): void {
    this.shape = shape;
  }

  private at(file: keyof typeof files): string {
    return join(this.folder, files[file]);
  }

  /** @throws `run.exists` when the folder already holds a run */
  async saveHeader(header: RunHeader): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    if (existsSync(this.at('header')))
      throw new LabError({
        code: 'run.exists',
        what: 'The output folder already holds a run',
        where: this.folder,
        expected: 'an empty or new folder',
        fix: 'Choose another --out, or continue that run with --resume.',
      });
    await writeAtomically(this.at('header'), `${JSON.stringify({ ...header, status: 'preparing' }, null, 2)}\n`);
  }

  async saveIteration(
    _runId: string,
    record: IterationRecord,
    rollouts: readonly Rollout[],
    checkpoint: Checkpoint,
  ): Promise<void> {
    if (!this.shape) throw new Error('useShape was not called');
    const lines = rollouts.map((r) => rolloutLine(r, (ids) => decode(ids))).join('\n');
    await appendDurably(this.at('trajectories'), `${lines}\n`);
    await appendDurably(this.at('metrics'), `${JSON.stringify(record)}\n`);
    const { policy, critic, ...counters } = checkpoint;
    const state = writeTrainingState(this.shape, { policy, critic }, { counters: JSON.stringify(counters) });
    await writeAtomically(this.at('policy'), writeModel(this.shape, policy.parameters, {}));
    await writeAtomically(this.at('checkpoint'), state);
  }

  async saveStatus(_runId: string, status: TrainerStatus): Promise<void> {
    const header = JSON.parse(await readFile(this.at('header'), 'utf8')) as object;
    await writeAtomically(this.at('header'), `${JSON.stringify({ ...header, status }, null, 2)}\n`);
  }

  /** Also cuts metrics and trajectories back to the checkpoint, so that a resumed run appends to what it continues. */
  async loadRun(): Promise<{ header: RunHeader; records: IterationRecord[]; checkpoint: Checkpoint | null } | null> {
    if (!existsSync(this.at('header'))) return null;
    const header = JSON.parse(await readFile(this.at('header'), 'utf8')) as RunHeader;
    const checkpoint = await this.loadCheckpoint();
    const done = checkpoint?.iteration ?? 0;
    const records = await this.cut('metrics', (line) => (line as { iteration: number }).iteration < done);
    await this.cut('trajectories', (line) => (line as { iteration: number }).iteration < done);
    return { header, records: records as IterationRecord[], checkpoint };
  }

  private async loadCheckpoint(): Promise<Checkpoint | null> {
    if (!existsSync(this.at('checkpoint'))) return null;
    const { models, metadata } = readTrainingState(await readFile(this.at('checkpoint')), this.at('checkpoint'));
    const counters = JSON.parse(metadata.get('counters') ?? '{}') as Omit<Checkpoint, 'policy' | 'critic'>;
    const { policy } = models;
    if (!policy || !Number.isInteger(counters.iteration))
      throw new LabError({
        code: 'run.checkpoint',
        what: 'The checkpoint holds no policy or no counters',
        where: this.at('checkpoint'),
        expected: 'a file written by this command',
        fix: 'Start a new run in another folder.',
      });
    return { ...counters, policy, critic: models.critic ?? null };
  }

  private async cut(file: 'metrics' | 'trajectories', keep: (line: unknown) => boolean): Promise<unknown[]> {
    if (!existsSync(this.at(file))) return [];
    const lines = (await readFile(this.at(file), 'utf8')).split('\n').filter(Boolean);
    const kept: { text: string; value: unknown }[] = [];
    for (const text of lines) {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        break; // The last line of a run that was cut off while writing it.
      }
      if (keep(value)) kept.push({ text, value });
    }
    if (kept.length < lines.length) await writeFile(this.at(file), kept.map((k) => `${k.text}\n`).join(''));
    return kept.map((k) => k.value);
  }
}

/** Keeps nothing: a run whose only output is its metrics. */
export class NullSink implements Sink {
  async saveHeader(): Promise<void> {}
  async saveIteration(): Promise<void> {}
  async saveStatus(): Promise<void> {}
  async loadRun(): Promise<null> {
    return null;
  }
}
