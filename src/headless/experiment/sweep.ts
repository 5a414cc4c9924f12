/** Computes the cells of a list that a folder does not have yet. */
import type { Cell } from '../../core/experiment/cells';
import type { CellResult } from '../../core/experiment/experiment';
import type { BaseCheck } from '../../run/cell-runner/base-check';
import type { CellRunner } from '../../run/cell-runner/cell-runner';
import type { CellFolder } from './cell-folder';

export interface SweepOptions {
  readonly cells: readonly Cell[];
  readonly folder: CellFolder;
  readonly runner: Pick<CellRunner, 'run'>;
  readonly bases: Pick<BaseCheck, 'isOutdated'>;
  readonly signal: AbortSignal;
  /** Makes sure that cells that are still to do can run, before the first does; throws where one cannot. */
  readonly requireReady: (open: readonly Cell[]) => Promise<void>;
  readonly onProgress: (cell: Cell, note: string) => void;
  /** Told of a result that was computed from another base than the one that is there now; the cell runs again. */
  readonly onOutdated: (cell: Cell) => void;
  readonly onDone: (cell: Cell, result: CellResult, remaining: number) => void;
  /** Time between two looks for a cell that another process computes, ms. */
  readonly pollMs?: number;
}

/** What became of the cells. */
export interface SweepReport {
  readonly ran: number;
  /** Were there already. */
  readonly found: number;
  /** Being computed by other processes, or broken off. */
  readonly open: number;
}

/**
 * Cells that are still to do. A cell of which only the result is there counts as done unless one that needs its policy is
 * not.
 */
async function unfinished(
  cells: readonly Cell[],
  { folder, bases, onOutdated }: Pick<SweepOptions, 'folder' | 'bases' | 'onOutdated'>,
): Promise<Set<Cell>> {
  const open = new Set<Cell>();
  // Backwards: what depends on a cell comes after it.
  for (const cell of [...cells].reverse()) {
    const needed = cells.some((other) => open.has(other) && other.dependsOn.includes(cell));
    const result = await folder.result(cell);
    const current = result !== null && !(await bases.isOutdated(cell.config, result));
    if (result && !current) onOutdated(cell);
    if (!current || (needed && !(await folder.load(cell.name)))) open.add(cell);
  }
  return open;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

/**
 * Runs what is missing, in order. Each result is on disk before the next cell begins. A cell that another process computes is
 * left to it; only where one here depends on it is it waited for.
 * @throws whatever a cell throws; finished cells stay
 */
export async function sweep(options: SweepOptions): Promise<SweepReport> {
  const { cells, folder, runner, signal, onProgress, onDone, pollMs = 2000 } = options;
  const open = await unfinished(cells, options);
  await options.requireReady(cells.filter((cell) => open.has(cell)));
  const quiet = { ...options, onOutdated: () => {} }; // said once
  let ran = 0;
  const report = (): SweepReport => ({ ran, found: cells.length - ran - open.size, open: open.size });
  const blocked = (cell: Cell) => cell.dependsOn.some((other) => open.has(other));
  for (;;) {
    let progress = false;
    for (const cell of cells) {
      if (signal.aborted) return report();
      if (!open.has(cell) || blocked(cell)) continue;
      const release = await folder.claim(cell);
      if (!release) continue;
      try {
        // Another process may have finished it since it was looked for.
        if (!(await unfinished(withDependents(cell, open), quiet)).has(cell)) {
          open.delete(cell);
          progress = true;
          continue;
        }
        const result = await runner.run(cell, { signal, onProgress: ({ note }) => onProgress(cell, note) });
        if (!result) return report();
        await folder.saveResult(cell, result);
        open.delete(cell);
        ran++;
        progress = true;
        onDone(cell, result, open.size);
      } finally {
        await release();
      }
    }
    if (progress) continue;
    if (![...open].some(blocked)) return report();
    await pause(pollMs, signal);
    const still = await unfinished(cells, quiet);
    for (const cell of open) if (!still.has(cell)) open.delete(cell);
  }
}

/** The cell, and those of the open ones that need its policy. */
function withDependents(cell: Cell, open: ReadonlySet<Cell>): Cell[] {
  return [cell, ...[...open].filter((other) => other.dependsOn.includes(cell))];
}
