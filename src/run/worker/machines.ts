/** What runs of this worker compute with: what their configuration names, or jax-js on WebAssembly without an adapter. */
import { LabError } from '../../core/errors';
import type { RunHeader } from '../../core/protocol/protocol';
import type { GpuContext } from '../../gpu/device';
import type { EngineKind } from '../../model/engine';
import { type Machine, machineFor, WEBASSEMBLY } from '../session/session';

/** Errors of `acquireDevice` that say that there is none, and not that one failed. */
const NO_ADAPTER: ReadonlySet<string> = new Set(['gpu.missing', 'gpu.no-adapter']);

/** The graphics device; null where there is none. @throws LabError gpu.… */
async function contextOf(device: () => Promise<GpuContext>): Promise<GpuContext | null> {
  try {
    return await device();
  } catch (thrown) {
    if (!(thrown instanceof LabError) || !NO_ADAPTER.has(thrown.parts.code)) throw thrown;
    return null;
  }
}

/** For a new run. */
export async function machineForNew(device: () => Promise<GpuContext>, wanted: EngineKind): Promise<Machine> {
  return machineFor(await contextOf(device), wanted);
}

/**
 * For a run that goes on. One that began on WebAssembly stays there, also where there is an adapter by now: its record
 * names what it computed with, and another engine rounds otherwise.
 */
export async function machineForStored(
  device: () => Promise<GpuContext>,
  { adapter, config }: Pick<RunHeader, 'adapter' | 'config'>,
): Promise<Machine> {
  return adapter === WEBASSEMBLY ? machineFor(null, config.engine) : machineForNew(device, config.engine);
}
