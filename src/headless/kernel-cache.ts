/** Measured kernel choices in a file of the user's cache folder, shared by all runs of the command line. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { errorParts, LabError, type LabErrorParts } from '../core/errors';
import type { KernelCache } from '../run/session/kernel-plan';
import { takeClaim } from './experiment/claim';
import { readText, shown } from './system-error';
import { makeFolder, writeAtomically } from './targets';

const entrySchema = v.object({
  adapter: v.string(),
  version: v.string(),
  model: v.string(),
  /** Parsed by whoever uses it. */
  report: v.unknown(),
});
const fileSchema = v.object({ version: v.literal(1), entries: v.array(entrySchema) });
type Entry = v.InferOutput<typeof entrySchema>;

/** Entries kept, the newest: kernels of other builds fall out in time. */
const MAX_ENTRIES = 64;

/** Longest wait for other processes, ms; each holds the cache for some milliseconds. */
const LOCK_MS = 5000;

/** `$XDG_CACHE_HOME/compaction-lab/autotune.json`, by default under ~/.cache. */
export function kernelCachePath(env: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: base } = env;
  // The XDG specification says to ignore relative paths.
  return join(base && isAbsolute(base) ? base : join(homedir(), '.cache'), 'compaction-lab', 'autotune.json');
}

/** The cache in a file. A file that cannot be read counts as empty, and `onNotice` is told, once. */
export class FileKernelCache implements KernelCache {
  private told = false;

  constructor(
    private readonly path: string,
    private readonly onNotice: (notice: LabErrorParts) => void,
  ) {}

  async loadKernels(adapter: string, version: string): Promise<Map<string, unknown>> {
    const entries = (await this.read()).filter((entry) => entry.adapter === adapter && entry.version === version);
    return new Map(entries.map(({ model, report }) => [model, report]));
  }

  async saveKernels(adapter: string, version: string, model: string, report: unknown): Promise<void> {
    await makeFolder(dirname(this.path));
    const release = await this.lock();
    try {
      const others = (await this.read()).filter(
        (entry) => entry.adapter !== adapter || entry.version !== version || entry.model !== model,
      );
      const entries = [...others, { adapter, version, model, report }].slice(-MAX_ENTRIES);
      await writeAtomically(this.path, `${JSON.stringify({ version: 1, entries }, null, 1)}\n`);
    } finally {
      await release();
    }
  }

  /** From reading to renaming, one at a time: the entry of another process would be lost. @throws LabError file.busy */
  private async lock(): Promise<() => Promise<void>> {
    const path = `${this.path}.lock`;
    const until = performance.now() + LOCK_MS;
    while (performance.now() < until) {
      const release = await takeClaim(path);
      if (release) return release;
      await sleep(5 + 20 * Math.random());
    }
    throw new LabError({
      code: 'file.busy',
      what: 'The measurement of kernels is used but not kept: another process holds the cache',
      where: shown(path),
      expected: `to get it within ${LOCK_MS / 1000} s`,
      fix: 'If no other lab runs, delete that file.',
    });
  }

  private async read(): Promise<Entry[]> {
    if (!existsSync(this.path)) return [];
    try {
      return v.parse(fileSchema, JSON.parse(await readText('cache of kernel measurements', this.path))).entries;
    } catch (thrown) {
      if (!this.told)
        this.onNotice({
          code: 'kernels.cache',
          what: 'The cache of kernel measurements is damaged and ignored',
          where: shown(this.path),
          got: errorParts(thrown).what,
          fix: 'It is written anew after the next measurement; delete the file if this stays.',
        });
      this.told = true;
      return [];
    }
  }
}
