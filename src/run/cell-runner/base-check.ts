/** Whether results come from the base files that are there now: the hash of a cell does not cover what is in those. */
import type { RunConfig } from '../../core/config/config';
import { fingerprint } from '../../core/experiment/cells';
import type { CellResult } from '../../core/experiment/experiment';
import { readModel } from '../session/model-file';
import { type BaseLoader, baseName } from '../session/session';

/** Reads every base once: made for one command, or one look at what is kept. */
export class BaseCheck {
  private readonly known = new Map<string, Promise<string | null>>();

  constructor(private readonly load: BaseLoader) {}

  /**
   * Whether a result was computed from a base other than the one that is there now; false where that cannot be told: the
   * result does not say, the base is not at hand, or it is no file.
   * @param config of the result's cell
   * @throws LabError for a file that is no base; what `load` throws
   */
  async isOutdated(config: Pick<RunConfig, 'base' | 'warmStart'>, { base }: CellResult): Promise<boolean> {
    if (base === undefined || config.base === 'random') return false;
    const name = baseName(config.base, config.warmStart);
    const now = this.known.get(name) ?? this.read(name);
    this.known.set(name, now);
    const found = await now;
    return found !== null && found !== base;
  }

  private async read(name: string): Promise<string | null> {
    const bytes = await this.load(name);
    return bytes && fingerprint(readModel(bytes, `bases/${name}.safetensors`).parameters);
  }
}
