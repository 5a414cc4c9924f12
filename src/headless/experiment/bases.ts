/** The base checkpoints that cells begin from, looked at before hours of work. */
import { LabError } from '../../core/errors';
import type { Cell } from '../../core/experiment/cells';
import type { CellResult } from '../../core/experiment/experiment';
import type { CellRunner } from '../../run/cell-runner/cell-runner';
import { type BaseLoader, loadBase } from '../../run/session/session';

/**
 * Makes sure that every base and warm start that the cells need is there and fits them; a file is read once.
 * @throws LabError `base.missing`, with what makes the file; what `loadBase` throws of one that is unfit
 */
export async function requireBases(cells: readonly Cell[], load: BaseLoader): Promise<void> {
  const files = new Map<string, ReturnType<BaseLoader>>();
  const once: BaseLoader = (name) => {
    const file = files.get(name) ?? load(name);
    files.set(name, file);
    return file;
  };
  for (const { config, seed } of cells) if (config.base !== 'random') await loadBase(config, seed, once);
}

/** As the runner's `isCurrent`; where the base is not at hand, nothing is held against the result, as in `lab collect`. */
export async function isCurrent(
  runner: Pick<CellRunner, 'isCurrent'>,
  cell: Cell,
  result: CellResult,
): Promise<boolean> {
  try {
    return await runner.isCurrent(cell, result);
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === 'base.missing') return true;
    throw thrown;
  }
}
