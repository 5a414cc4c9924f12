/** A folder of cells: one result and one policy a cell, whole or not there. */
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorParts, formatError, type LabErrorParts } from '../../core/errors';
import type { Cell } from '../../core/experiment/cells';
import type { CellResult, Experiment } from '../../core/experiment/experiment';
import { fault } from '../../core/experiment/parse';
import { parseCellResult, resultName } from '../../core/experiment/result';
import { parseExperiment } from '../../core/experiment/schema';
import type { PolicyStore } from '../../run/cell-runner/cell-runner';
import { readPolicy } from '../policy-file';
import { readJson } from '../runtime';
import { onFile, readBytes } from '../system-error';
import { requireWritableFolder, writeAtomically } from '../targets';
import { EXPERIMENT_FILE } from './arguments';
import { dropStaleClaim, isAlive, takeClaim } from './claim';

/** The experiment as it was last run in a folder; `lab collect` reads it. */
const EXPERIMENT = 'experiment.json';

/** What mends a damaged result, for those who only look at it. */
export const SET_ASIDE_LATER = 'lab experiment sets it aside and runs the cell again.';

/** What is wrong with the content of a file. @throws what was thrown where the file cannot be read at all */
export function damageOf(thrown: unknown): LabErrorParts {
  const parts = errorParts(thrown);
  if (parts.code.startsWith('file.')) throw thrown;
  return parts;
}

export class CellFolder implements PolicyStore {
  /** @param note told about files that are set aside */
  constructor(
    readonly path: string,
    private readonly note: (text: string) => void,
  ) {}

  /** Makes the folder, keeps the experiment in it, and removes what a killed process left: halves of files, claims. @throws LabError file.… */
  async prepare(experiment: Experiment): Promise<void> {
    await requireWritableFolder(this.path);
    for (const name of await readdir(this.path)) {
      const pid = /\.(\d+)\.partial$/.exec(name)?.[1];
      if (pid !== undefined && !isAlive(Number(pid))) await rm(join(this.path, name), { force: true });
      // Also of cells that were finished just before the kill, whose claims nobody would ask for again.
      if (name.endsWith('.running')) await dropStaleClaim(join(this.path, name));
    }
    await writeAtomically(join(this.path, EXPERIMENT), `${JSON.stringify(experiment, null, 1)}\n`);
  }

  /** The experiment that was last run here. @throws LabError file.… and what `parseExperiment` throws */
  async experiment(): Promise<Experiment> {
    const path = join(this.path, EXPERIMENT);
    return parseExperiment(await readJson('experiment file', path, EXPERIMENT_FILE), path);
  }

  /** File names of results, sorted. */
  async resultNames(): Promise<string[]> {
    const names = await onFile('The results cannot be read', this.path, 'a folder of cells', () => readdir(this.path));
    return names.filter((name) => name.includes('--') && name.endsWith('.json')).sort();
  }

  /** A finished cell's result; null when there is none. A damaged file is named and set aside. */
  async result(cell: Cell): Promise<CellResult | null> {
    const path = this.resultPath(cell);
    return existsSync(path) ? this.orAside(path, () => this.readResult(cell)) : null;
  }

  /** As `result`, and changes nothing: a damaged file is named and stays where it is. */
  async peek(cell: Cell): Promise<CellResult | null> {
    if (!existsSync(this.resultPath(cell))) return null;
    try {
      return await this.readResult(cell);
    } catch (thrown) {
      this.note(formatError({ ...damageOf(thrown), fix: SET_ASIDE_LATER }));
      return null;
    }
  }

  /** A finished cell's result. @throws LabError file.…, config.not-json, results.… */
  async readResult(cell: Cell): Promise<CellResult> {
    const path = this.resultPath(cell);
    const result = parseCellResult(
      await readJson('result', path, 'the result of a cell, as lab experiment writes it'),
      path,
    );
    const found = resultName(result);
    if (found !== cell.name)
      throw fault('results.other-cell', 'The file holds the result of another cell', path, {
        expected: cell.name,
        got: found,
      });
    return result;
  }

  async saveResult(cell: Cell, result: CellResult): Promise<void> {
    await writeAtomically(this.resultPath(cell), `${JSON.stringify(result)}\n`);
  }

  /** A trained cell's policy; null when there is none. A damaged file is named and set aside. */
  async load(cell: string): Promise<Uint8Array | null> {
    const path = this.policyPath(cell);
    if (!existsSync(path)) return null;
    return this.orAside(path, async () => {
      const bytes = await readBytes('policy', path);
      readPolicy(bytes, path);
      return bytes;
    });
  }

  async save(cell: string, bytes: Uint8Array): Promise<void> {
    await writeAtomically(this.policyPath(cell), bytes);
  }

  /** Takes over recorded results of cells that are not here. @returns how many */
  async adopt(cells: readonly Cell[], recorded: readonly CellResult[]): Promise<number> {
    const byName = new Map(recorded.map((result) => [resultName(result), result]));
    let taken = 0;
    for (const cell of cells) {
      const result = byName.get(cell.name);
      if (!result || (await this.result(cell))) continue;
      await this.saveResult(cell, result);
      taken++;
    }
    return taken;
  }

  /** Keeps others from computing a cell. @returns how to let it go; null when another process computes it */
  claim(cell: Cell): Promise<(() => Promise<void>) | null> {
    return takeClaim(join(this.path, `${cell.name}.running`));
  }

  private resultPath(cell: Cell): string {
    return join(this.path, `${cell.name}.json`);
  }
  private policyPath(cell: string): string {
    return join(this.path, `${cell}.safetensors`);
  }

  /** What `read` makes of a file. Where the file is at fault, it is moved aside, and the answer is null. */
  private async orAside<T>(path: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (thrown) {
      const { fix: _, ...fault } = damageOf(thrown);
      let k = 1;
      while (existsSync(`${path}.bad-${k}`)) k++;
      await onFile('A damaged file cannot be set aside', path, 'a file that can be renamed', () =>
        rename(path, `${path}.bad-${k}`),
      );
      this.note(`set aside as ${path}.bad-${k}: ${formatError(fault)}`);
      return null;
    }
  }
}
