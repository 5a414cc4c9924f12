/**
 * A run as files: config.json, metrics.jsonl, trajectories.jsonl, checkpoint.safetensors, policy.safetensors. An iteration is durable
 * once its checkpoint is renamed into place; lines of an iteration that was cut off before that are dropped on resume.
 */

import { createReadStream, existsSync } from 'node:fs';
import { open, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { parseConfig, parseSeed } from '../core/config/config';
import { LabError } from '../core/errors';
import { requireShallow } from '../core/json-depth';
import { parseKernelPlan } from '../core/kernels';
import type { IterationRecord } from '../core/metrics/records';
import type { Checkpoint, RunHeader, Sink, TrainerStatus } from '../core/protocol/protocol';
import { parseShellVersion } from '../core/shell-version';
import { decode } from '../core/tokenizer/tokenizer';
import type { Rollout } from '../core/trajectory/trajectory';
import { rolloutLine } from '../core/trajectory/trajectory-jsonl';
import type { ModelShape } from '../model/parameters';
import { readTrainingState, writeModel, writeTrainingState } from '../run/session/model-file';
import { onFile, readBytes, readText, shown } from './system-error';
import { makeFolder, writeAtomically } from './targets';

const files = {
  header: 'config.json',
  metrics: 'metrics.jsonl',
  trajectories: 'trajectories.jsonl',
  checkpoint: 'checkpoint.safetensors',
  policy: 'policy.safetensors',
} as const;

async function appendDurably(path: string, text: string): Promise<void> {
  await onFile('The run cannot be saved', path, 'a file that can be written', async () => {
    const handle = await open(path, 'a');
    try {
      await handle.appendFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
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

  static holdsRun(folder: string): boolean {
    return existsSync(join(folder, files.header));
  }

  /** @throws `run.exists` when the folder already holds a run */
  requireNew(): void {
    if (FileSink.holdsRun(this.folder))
      throw new LabError({
        code: 'run.exists',
        what: 'The output folder already holds a run',
        where: this.folder,
        expected: 'an empty or new folder',
        got: files.header,
        fix: 'Choose another --out, or continue that run with --resume.',
      });
  }

  /** @throws `run.exists` when the folder already holds a run; `file.…` */
  async saveHeader(header: RunHeader): Promise<void> {
    this.requireNew();
    await makeFolder(this.folder);
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
    const header = JSON.parse(await readText('description of the run', this.at('header'))) as object;
    await writeAtomically(this.at('header'), `${JSON.stringify({ ...header, status }, null, 2)}\n`);
  }

  /**
   * Also takes metrics, trajectories and the policy back to the checkpoint, so that a resumed run appends to what it continues,
   * and a policy that was lost or cut off is there again.
   * @throws LabError `run.…`, `file.…`
   */
  async loadRun(): Promise<{ header: RunHeader; records: IterationRecord[]; checkpoint: Checkpoint | null } | null> {
    if (!existsSync(this.at('header'))) return null;
    const header = parseHeader(await readText('description of the run', this.at('header')), this.at('header'));
    const loaded = await this.loadCheckpoint();
    const checkpoint = loaded?.checkpoint ?? null;
    if (!checkpoint) await this.requireNoLaterLines();
    const done = checkpoint?.iteration ?? 0;
    const records: IterationRecord[] = [];
    // Both are looked through before either is cut.
    const metrics = await linesBefore(this.at('metrics'), done, (r) => records.push(r as unknown as IterationRecord));
    const trajectories = await linesBefore(this.at('trajectories'), done);
    await metrics.cut();
    await trajectories.cut();
    if (loaded)
      await writeAtomically(this.at('policy'), writeModel(loaded.shape, loaded.checkpoint.policy.parameters, {}));
    return { header, records, checkpoint };
  }

  /** A run cut off within its first iteration has no checkpoint; one with later lines has lost it. @throws `run.no-checkpoint` */
  private async requireNoLaterLines(): Promise<void> {
    if (!existsSync(this.at('metrics'))) return;
    let lines = 0;
    for await (const _ of linesOf(this.at('metrics'))) lines++;
    if (lines > 1)
      throw new LabError({
        code: 'run.no-checkpoint',
        what: 'The checkpoint of the run is missing',
        where: shown(this.at('checkpoint')),
        expected: `a file, as ${lines} iterations were saved`,
        got: 'nothing',
        fix: 'Restore the file from a copy, or start a new run in another folder.',
      });
  }

  private async loadCheckpoint(): Promise<{ checkpoint: Checkpoint; shape: ModelShape } | null> {
    if (!existsSync(this.at('checkpoint'))) return null;
    const { models, metadata, shape } = readTrainingState(
      await readBytes('checkpoint', this.at('checkpoint')),
      this.at('checkpoint'),
    );
    const counters = parseCounters(metadata.get('counters'));
    const { policy } = models;
    if (!policy || !counters)
      throw new LabError({
        code: 'run.checkpoint',
        what: 'The checkpoint holds no policy or no counters',
        where: this.at('checkpoint'),
        expected: 'a file written by this command',
        fix: 'Start a new run in another folder.',
      });
    return { checkpoint: { ...counters, policy, critic: models.critic ?? null }, shape };
  }
}

/** The counters of a checkpoint; null when they are not ours. */
function parseCounters(text: string | undefined): Omit<Checkpoint, 'policy' | 'critic'> | null {
  try {
    const counters = requireShallow(JSON.parse(text ?? ''), 'counters') as Omit<Checkpoint, 'policy' | 'critic'>;
    const { iteration, envTokens, elapsedMs } = counters;
    const sane = Number.isSafeInteger(iteration) && [iteration, envTokens, elapsedMs].every(isAmount);
    return sane ? counters : null;
  } catch {
    return null;
  }
}

function isAmount(n: number): boolean {
  return Number.isFinite(n) && n >= 0;
}

/** Reads config.json. It may have been edited by hand, or written by a build with other configuration keys. */
function parseHeader(text: string, where: string): RunHeader {
  const reject = (expected: string, got: string, cause?: unknown) =>
    new LabError(
      {
        code: 'run.bad-header',
        what: 'The description of the run is damaged',
        where,
        expected,
        got: got.slice(0, 120),
        fix: 'Restore the file, or start a new run in another folder.',
      },
      { cause },
    );
  let raw: Partial<Record<keyof RunHeader, unknown>> | null;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw reject('JSON', cause instanceof Error ? cause.message : String(cause), cause);
  }
  requireShallow(raw, where);
  if (typeof raw !== 'object' || raw === null) throw reject('an object', JSON.stringify(raw));
  const textOf = (key: keyof RunHeader): string => {
    const value = raw[key];
    if (typeof value === 'string') return value;
    throw reject(`a text under "${key}"`, JSON.stringify(value) ?? 'nothing');
  };
  const inside = <T>(parse: () => T): T => {
    try {
      return parse();
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      const { what, where: key, expected = 'a valid value', got } = thrown.parts;
      throw reject(`${expected} under "${key}"`, got ?? what, thrown);
    }
  };
  return {
    runId: textOf('runId'),
    config: inside(() => parseConfig(raw.config)),
    seed: inside(() => parseSeed(raw.seed)),
    preset: raw.preset === null ? null : textOf('preset'),
    createdAt: textOf('createdAt'),
    adapter: textOf('adapter'),
    engine: textOf('engine'),
    build: textOf('build'),
    ...(raw.kernels !== undefined && { kernels: inside(() => parseKernelPlan(raw.kernels, 'kernels')) }),
    ...(raw.shell !== undefined && { shell: inside(() => parseShellVersion(raw.shell, 'shell')) }),
  };
}

/** Complete lines of a file without their ends. Split at bytes: `readline` also splits at U+2028, which JSON text may hold. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
  }
}

/**
 * Reads the JSON lines of the iterations before `done`, which a checkpoint says were saved. Line by line: the trajectories of
 * a long run are longer than a JavaScript string may be.
 * @param visit told of every such line
 * @returns `cut`: cuts the file before the first line of iteration `done` or later, and an unfinished last line off
 * @throws `run.missing-lines` when the file or an iteration of it is not there, `run.bad-line` when a line is damaged
 */
async function linesBefore(path: string, done: number, visit: (value: { iteration: number }) => void = () => {}) {
  let kept = 0;
  let number = 0;
  let last = -1;
  if (existsSync(path))
    await onFile('The run cannot be read', path, 'a readable file', async () => {
      for await (const line of linesOf(path)) {
        const value = parseLine(line.toString('utf8'), path, ++number);
        if (value.iteration >= done) break;
        if (value.iteration > last + 1 || value.iteration < last)
          throw missing(path, `iteration ${last + 1} on line ${number}`, `iteration ${value.iteration}`);
        last = value.iteration;
        visit(value);
        kept += line.length + 1;
      }
    });
  else if (done > 0) throw missing(path, 'a file', 'nothing');
  if (last + 1 < done) throw missing(path, `iterations 0 to ${done - 1}`, `${last + 1} of them`);
  const cut = async () => {
    if (existsSync(path) && kept < (await stat(path)).size) await truncate(path, kept);
  };
  return { cut: () => onFile('The run cannot be continued', path, 'a file that can be written', cut) };
}

function missing(path: string, expected: string, got: string): LabError {
  return new LabError({
    code: 'run.missing-lines',
    what: 'Saved iterations are missing that the checkpoint builds on',
    where: shown(path),
    expected,
    got,
    fix: 'Restore the file from a copy, or start a new run in another folder.',
  });
}

function parseLine(line: string, path: string, number: number): { iteration: number } {
  try {
    const value = requireShallow(JSON.parse(line), path) as { iteration?: unknown };
    if (typeof value.iteration === 'number') return value as { iteration: number };
  } catch {
    // Reported below, as is a line that is JSON but not ours.
  }
  throw new LabError({
    code: 'run.bad-line',
    what: 'A saved line is damaged',
    where: `${path}, line ${number}`,
    expected: 'a JSON object with its iteration',
    got: line.slice(0, 60),
    fix: 'Restore the file from a copy, or start a new run in another folder.',
  });
}
