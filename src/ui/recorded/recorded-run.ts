/** The recorded run of what a cell shows: looked for when the cell comes into sight, and again when its settings change. */
import type { ReactiveController, ReactiveControllerHost } from 'lit';
import type { RunConfig } from '../../core/config/config';
import { errorParts, type LabErrorParts } from '../../core/errors';
import type { RunEntry, RunResult } from '../../core/recording/run-result';
import type { LabServices } from '../services';
import { loadRun, loadRunIndex } from './load';

/** How far from the sight it is looked for already. */
const MARGIN = '600px';

/** A run with the name of its file. */
export interface RecordedRun {
  readonly entry: RunEntry;
  readonly result: RunResult;
}

export type IsRunOf = typeof import('../../core/recording/run-result').isRunOf;

export class RecordedRuns implements ReactiveController {
  /** What this site has; null before it is known. */
  index: readonly RunEntry[] | null = null;
  error: LabErrorParts | null = null;
  private isRunOf: IsRunOf | null = null;
  private readonly results = new Map<string, RunResult>();
  private busy = false;
  private near = false;
  private readonly sight = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      this.sight.disconnect();
      this.near = true;
      this.host.requestUpdate();
    },
    { rootMargin: MARGIN },
  );

  constructor(
    private readonly host: ReactiveControllerHost & Element,
    private readonly services: () => LabServices,
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    if (!this.near) this.sight.observe(this.host);
  }
  hostDisconnected(): void {
    this.sight.disconnect();
  }

  /** The recorded run of exactly this configuration and seed, once it is here; asking for it fetches it. */
  of(config: RunConfig, seed: number): RecordedRun | null {
    if (!this.near) return null;
    if (!this.index || !this.isRunOf) {
      this.fetch(async () => {
        const [index, { isRunOf }] = await Promise.all([
          loadRunIndex(this.services().fetchResults),
          import('../../core/recording/run-result'),
        ]);
        this.isRunOf = isRunOf;
        this.index = index;
      });
      return null;
    }
    const { isRunOf } = this;
    const entry = this.index.find((run) => isRunOf(run, config, seed));
    if (!entry) return null;
    const result = this.results.get(entry.name);
    if (result) return { entry, result };
    this.fetch(async () => {
      this.results.set(entry.name, await loadRun(entry, this.services().fetchResults));
    });
    return null;
  }

  /** Whether it is known that there is none. */
  lacks(config: RunConfig, seed: number): boolean {
    const { index, isRunOf } = this;
    return index !== null && isRunOf !== null && !index.some((run) => isRunOf(run, config, seed));
  }

  retry(): void {
    this.error = null;
    this.host.requestUpdate();
  }

  /** One at a time; after a failure none until `retry`. */
  private fetch(work: () => Promise<void>): void {
    if (this.busy || this.error) return;
    this.busy = true;
    void work()
      .catch((thrown) => {
        this.error = errorParts(thrown);
      })
      .finally(() => {
        this.busy = false;
        this.host.requestUpdate();
      });
  }
}
