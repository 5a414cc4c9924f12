/**
 * The page's side of the trainer: one worker, started when first needed; its events gathered per run and passed on at most
 * four times a second, so that a fast run cannot flood the main thread.
 */
import { errorParts, type LabErrorParts } from '../core/errors';
import type { Alarm, IterationRecord } from '../core/metrics/records';
import type {
  DeviceReport,
  FallbackSpeed,
  Progress,
  RunSummary,
  TrainerApi,
  TrainerEvent,
  WatchEvent,
} from '../core/protocol/protocol';
import { BenchMeasurement } from './bench-measurement';
import { ordinal } from './format';

/** Redraws per second are bounded by this, ms. */
const FLUSH_MS = 250;
/** How often the list of runs is read again while another tab trains one, ms. */
const ELSEWHERE_MS = 2000;

/** Everything the page knows of one run. */
export interface RunView {
  readonly runId: string;
  progress: Progress | null;
  /** By iteration, ascending, without gaps where the store has none. */
  records: IterationRecord[];
  /** Alarms by code: the last message, how often, and in which iteration (from 1) last. */
  alarms: Map<string, { alarm: Alarm; times: number; iteration: number }>;
  error: LabErrorParts | null;
  /** How often the run came to a pause: tells a step that has ended from one that has not begun. */
  pauses: number;
  /** Changes with every event, so that a view can tell whether to draw again. */
  version: number;
}

type WatchListener = (events: readonly WatchEvent[]) => void;

export class TrainerSession extends EventTarget {
  readonly #create: () => TrainerApi;
  #api: TrainerApi | null = null;
  #connected: Promise<void> | null = null;
  readonly #runs = new Map<string, RunView>();
  readonly #watchers = new Map<string, Set<WatchListener>>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #lookAgain: ReturnType<typeof setTimeout> | undefined;
  /** The run that is running or paused in this tab. */
  activeRunId: string | null = null;
  device: DeviceReport | null = null;
  /** Speed without a graphics adapter: null until it is measured, or why it could not be. */
  fallback: FallbackSpeed | LabErrorParts | null = null;
  stored: readonly RunSummary[] = [];
  readonly bench = new BenchMeasurement(() => this.api);
  /** The trainer itself could not be reached. */
  error: LabErrorParts | null = null;

  constructor(create: () => TrainerApi) {
    super();
    this.#create = create;
  }

  get api(): TrainerApi {
    this.#api ??= this.#create();
    return this.#api;
  }

  /** Starts the trainer, asks for the device and the stored runs. Safe to call often. */
  connect(): Promise<void> {
    this.#connected ??= this.#connect();
    return this.#connected;
  }

  async #connect(): Promise<void> {
    try {
      await this.api.subscribe((event) => this.#receive(event));
      const [device, runs] = await Promise.all([this.api.device(), this.api.listRuns()]);
      this.device = device;
      await this.#list(runs);
    } catch (thrown) {
      this.error = errorParts(thrown);
    }
    this.#flush();
    if (this.device?.available === false) void this.#measureFallback();
  }

  async #measureFallback(): Promise<void> {
    this.fallback = await this.api.measureFallback().catch(errorParts);
    this.#flush();
  }

  async refreshRuns(): Promise<void> {
    await this.#list(await this.api.listRuns());
    this.#flush();
  }

  async #list(runs: readonly RunSummary[]): Promise<void> {
    this.stored = runs;
    clearTimeout(this.#lookAgain);
    if (runs.some((run) => run.liveElsewhere))
      this.#lookAgain = setTimeout(() => void this.refreshRuns().catch(() => {}), ELSEWHERE_MS);
    for (const { header, iterations } of runs) {
      const view = this.#runs.get(header.runId);
      // Another tab has taken the run further than this one knows.
      if (view && header.runId !== this.activeRunId && view.records.length < iterations) await this.#reload(view);
    }
  }

  async #reload(view: RunView): Promise<void> {
    const records = await this.api.loadRecords(view.runId);
    if (view.runId === this.activeRunId) return;
    view.records = [];
    view.alarms.clear();
    for (const record of records) this.#add(view, record);
    this.#schedule();
  }

  run(runId: string): RunView | null {
    return this.#runs.get(runId) ?? null;
  }

  /** Loads the metrics of a stored run, unless they are here already. */
  async load(runId: string): Promise<RunView> {
    const view = this.#view(runId);
    if (view.records.length === 0) {
      await this.#reload(view);
    }
    return view;
  }

  async start(request: { config: unknown; seed: number; preset: string | null }): Promise<string> {
    await this.connect();
    const runId = await this.api.start(request);
    this.#view(runId);
    this.activeRunId = runId;
    await this.refreshRuns();
    return runId;
  }

  async resume(runId: string): Promise<void> {
    await this.connect();
    await this.load(runId);
    this.#view(runId).error = null;
    await this.api.resume(runId);
    this.activeRunId = runId;
    this.#flush();
  }

  async deleteRun(runId: string): Promise<void> {
    await this.api.deleteRun(runId);
    this.#runs.delete(runId);
    if (this.activeRunId === runId) this.activeRunId = null;
    await this.refreshRuns();
  }

  /** Listens to the live episode of a run. @returns a function that ends it */
  watch(runId: string, listener: WatchListener): () => void {
    const set = this.#watchers.get(runId) ?? new Set();
    set.add(listener);
    this.#watchers.set(runId, set);
    return () => set.delete(listener);
  }

  #view(runId: string): RunView {
    let view = this.#runs.get(runId);
    if (!view) {
      view = { runId, progress: null, records: [], alarms: new Map(), error: null, pauses: 0, version: 0 };
      this.#runs.set(runId, view);
    }
    return view;
  }

  #receive(event: TrainerEvent): void {
    switch (event.type) {
      case 'progress': {
        const { runId, status } = event.progress;
        const view = this.#view(runId);
        const before = view.progress?.status;
        view.progress = event.progress;
        if (status === 'paused' && before !== 'paused') view.pauses++;
        view.version++;
        const live = status === 'preparing' || status === 'running' || status === 'paused';
        if (live) this.activeRunId = runId;
        else if (this.activeRunId === runId) this.activeRunId = null;
        if (before !== status && !live) void this.refreshRuns().catch(() => {});
        break;
      }
      case 'iteration':
        this.#add(this.#view(event.runId), event.record);
        break;
      case 'watch':
        for (const listener of this.#watchers.get(event.runId) ?? []) listener(event.events);
        return;
      case 'notice':
        this.dispatchEvent(new CustomEvent('notice', { detail: event.notice }));
        return;
      case 'failed': {
        const view = this.#view(event.runId);
        view.error = event.error;
        view.version++;
        // A full disk only pauses a run.
        if (this.activeRunId === event.runId && event.error.code !== 'store.quota') this.activeRunId = null;
        break;
      }
    }
    this.#schedule();
  }

  #add(view: RunView, record: IterationRecord): void {
    const last = view.records.at(-1);
    // A resumed run may repeat the iteration it was interrupted in: the newest record counts.
    if (last && record.iteration <= last.iteration)
      view.records = view.records.filter((r) => r.iteration < record.iteration);
    view.records.push(record);
    for (const alarm of record.alarms) {
      const times = (view.alarms.get(alarm.code)?.times ?? 0) + 1;
      view.alarms.set(alarm.code, { alarm, times, iteration: ordinal(record.iteration) });
    }
    view.version++;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.dispatchEvent(new Event('change'));
  }
}
