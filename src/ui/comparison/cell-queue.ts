/** Cells of an experiment that are run in this browser, one after the other; every finished one is kept at once. */

import { errorParts, type LabErrorParts } from '../../core/errors';
import { runsIn, seedsOf } from '../../core/experiment/cells';
import type { CellResult, Experiment } from '../../core/experiment/experiment';
import type { TrainerApi } from '../../core/protocol/protocol';

export interface CellPlace {
  readonly setup: string;
  readonly arm: string;
  readonly seed: number;
}

const keyOf = ({ setup, arm, seed }: CellPlace): string => `${setup} ${arm} ${seed}`;

/** Every cell of an experiment, seed by seed: a queue that is broken off has as many seeds of every arm. */
export function placesOf(experiment: Experiment): CellPlace[] {
  // Arms that need the policy of another come after it.
  const trained = (arm: Experiment['arms'][number]) => Number((arm.policy ?? 'train') !== 'train');
  const arms = [...experiment.arms].sort((a, b) => trained(a) - trained(b));
  return Array.from({ length: experiment.seeds }, (_, i) => i + 1).flatMap((seed) =>
    experiment.setups.flatMap((setup) =>
      arms
        .filter((arm) => runsIn(arm, setup) && seed <= seedsOf(experiment, arm, setup))
        .map((arm) => ({ setup: setup.id, arm: arm.id, seed })),
    ),
  );
}

export class CellQueue extends EventTarget {
  private readonly done = new Map<string, CellResult>();
  /** Results of this browser, the oldest first; another array when there is another result. */
  results: readonly CellResult[] = [];
  private queue: CellPlace[] = [];
  private times: number[] = [];
  /** The cell in hand. */
  current: CellPlace | null = null;
  note = '';
  /** Pause was asked for: the cell in hand is finished, the next does not begin. */
  pausing = false;
  stopping = false;
  error: LabErrorParts | null = null;

  constructor(
    private readonly experiment: Experiment,
    private readonly api: () => TrainerApi,
  ) {
    super();
  }

  get waiting(): number {
    return this.queue.length;
  }
  /** Something runs or waits. */
  get active(): boolean {
    return this.current !== null || this.queue.length > 0;
  }
  /** Estimated time of what waits, ms; null before the first cell is done. */
  get remainingMs(): number | null {
    if (this.times.length === 0) return null;
    const mean = this.times.reduce((sum, ms) => sum + ms, 0) / this.times.length;
    return mean * (this.queue.length + (this.current ? 0.5 : 0));
  }
  result(place: CellPlace): CellResult | undefined {
    return this.done.get(keyOf(place));
  }

  /** What this browser has from before. */
  async load(): Promise<void> {
    try {
      for (const cell of await this.api().keptCells(this.experiment)) this.keep(cell);
    } catch (thrown) {
      this.error = errorParts(thrown);
    }
    this.changed();
  }

  /** Puts cells into the queue, without those that are done, and begins. */
  add(places: readonly CellPlace[]): void {
    const there = new Set([
      ...this.done.keys(),
      ...this.queue.map(keyOf),
      ...(this.current ? [keyOf(this.current)] : []),
    ]);
    this.queue.push(...places.filter((place) => !there.has(keyOf(place))));
    this.resume();
  }
  pause(): void {
    this.pausing = true;
    this.changed();
  }
  resume(): void {
    this.pausing = false;
    this.error = null;
    this.changed();
    if (this.current === null) void this.work();
  }
  /** Empties the queue and ends the cell in hand, whose work is lost. */
  async cancel(): Promise<void> {
    this.queue = [];
    this.pausing = false;
    if (this.current) {
      this.stopping = true;
      this.changed();
      await this.api()
        .cancelCell()
        .catch((thrown) => {
          this.error = errorParts(thrown);
        });
    }
    this.changed();
  }

  private keep(cell: CellResult): void {
    this.done.set(keyOf(cell), cell);
    this.results = [...this.done.values()];
  }

  private async work(): Promise<void> {
    while (!this.pausing && this.error === null) {
      const place = this.queue.shift();
      if (!place) break;
      this.current = place;
      this.note = 'preparing';
      this.changed();
      const began = performance.now();
      try {
        const result = await this.api().runCell({ experiment: this.experiment, ...place }, (note) => {
          if (this.current !== place) return;
          this.note = note;
          this.changed();
        });
        if (result) {
          this.keep(result);
          this.times.push(performance.now() - began);
        }
      } catch (thrown) {
        this.error = errorParts(thrown);
        // Tried again on Resume, unless it was to end.
        if (!this.stopping) this.queue.unshift(place);
      }
      this.current = null;
      this.stopping = false;
      this.changed();
    }
    this.changed();
  }

  private changed(): void {
    this.dispatchEvent(new Event('change'));
  }
}
