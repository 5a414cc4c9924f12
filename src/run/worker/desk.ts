/** Who occupies the device in this tab, and how it is stopped. */
import { LabError } from '../../core/errors';

/** At most one job at a time: several would share the device. */
export class Desk {
  private controller: AbortController | null = null;

  /** @param taken what a second job is told */
  constructor(private readonly taken: () => LabError) {}

  /** Asks the job to end. Nothing when there is none. */
  cancel(): void {
    this.controller?.abort();
  }

  /** @throws what `taken` says while there is a job already, and what `work` throws */
  async take<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.controller) throw this.taken();
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
