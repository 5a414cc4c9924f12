/** The base checkpoints that cells begin from, looked at before hours of work. */
import type { Cell } from '../../core/experiment/cells';
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
