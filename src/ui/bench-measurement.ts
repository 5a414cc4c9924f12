/** The page's measurement of its adapter: one for all bench cells, kept until the page is left. */

import { errorParts, type LabErrorParts } from '../core/errors';
import type { BenchProgress, BenchReport, BenchRequest } from '../core/protocol/bench';
import type { TrainerApi } from '../core/protocol/protocol';

export class BenchMeasurement extends EventTarget {
  /** Null unless something is measured now. */
  progress: BenchProgress | null = null;
  /** What was measured last; grows while something is measured. */
  report: BenchReport | null = null;
  error: LabErrorParts | null = null;
  /** From the moment of asking to the moment of the last number. */
  active = false;
  /** Stop was asked for and has not happened yet. */
  stopping = false;

  /** @param api starts the trainer when it is first needed */
  constructor(private readonly api: () => TrainerApi) {
    super();
  }

  /** Resolves when it has ended, well or badly. Nothing while something is measured. */
  async start(request: BenchRequest): Promise<void> {
    if (this.active) return;
    this.change({ active: true, error: null });
    try {
      const report = await this.api().bench(request, (progress) => {
        // A late message of a measurement that has ended.
        if (!this.active) return;
        this.change({ progress });
        this.show(progress.report);
      });
      this.show(report);
    } catch (thrown) {
      this.change({ error: errorParts(thrown) });
    } finally {
      this.change({ active: false, stopping: false, progress: null });
    }
  }

  /** Ends the measurement after the piece of work in hand; what it has stays. */
  async stop(): Promise<void> {
    if (!this.active || this.stopping) return;
    this.change({ stopping: true });
    await this.api()
      .cancelBench()
      .catch((thrown) => this.change({ error: errorParts(thrown) }));
  }

  /** What was measured before stays until there is something new to show. */
  private show(report: BenchReport): void {
    if (report.product || report.rows.length > 0 || report.problems.length > 0) this.change({ report });
  }

  dismiss(): void {
    this.change({ error: null });
  }

  private change(
    state: Partial<Pick<BenchMeasurement, 'progress' | 'report' | 'error' | 'active' | 'stopping'>>,
  ): void {
    Object.assign(this, state);
    this.dispatchEvent(new Event('change'));
  }
}
