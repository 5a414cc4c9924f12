/** Who measures in this tab, and how it is stopped. */
import { LabError } from '../core/errors';

/** At most one measurement at a time: several would share the device. */
export class BenchDesk {
  private controller: AbortController | null = null;

  /** Ends the measurement; it then resolves with what it has. Nothing when there is none. */
  cancel(): void {
    this.controller?.abort();
  }

  /** @throws LabError `bench.running` when there is one already, and what `work` throws */
  async take<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.controller) throw benchRunning('another bench cell measures');
    const controller = new AbortController();
    this.controller = controller;
    try {
      return await work(controller.signal);
    } finally {
      this.controller = null;
    }
  }
}

/** The error for those who want the device while it is measured. @param got who measures */
export function benchRunning(got: string): LabError {
  return new LabError({
    code: 'bench.running',
    what: 'A measurement occupies the graphics device',
    expected: 'a device that nobody else uses',
    got,
    fix: 'Wait for the measurement to end, or stop it in its bench cell.',
  });
}
