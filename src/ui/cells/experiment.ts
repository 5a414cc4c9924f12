/** An experiment cell: what to run, the controls of the run, and what it shows while it runs. */
import { html, nothing, type PropertyValues } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { compactThreshold, type RunConfig } from '../../core/config/config';
import type { ConfigName } from '../../core/config/config-table';
import { errorParts, type LabErrorParts } from '../../core/errors';
import type { RunSummary, WatchEvent } from '../../core/protocol/protocol';
import type { ExperimentCell } from '../../notebook/cells';
import { askPersistence } from '../../store/persistence';
import {
  cellConfig,
  configIssues,
  type FieldValidity,
  presetConfig,
  sameConfig,
  withParameter,
} from '../experiment-parameters';
import { ordinal } from '../format';
import { LabElement } from '../lab-element';
import type { LabServices } from '../services';
import { baseStyles } from '../styles';
import '../recorded/expectation';
import { type RecordedRun, RecordedRuns } from '../recorded/recorded-run';
import type { RunView, TrainerSession } from '../trainer-session';
import { experimentStyles } from './experiment-styles';
import '../charts/lab-charts';
import '../error-panel';
import '../experiment-setup';
import type { BarStatus, RunCommand } from '../run-bar';
import '../run-bar';
import '../watch/lab-watch';

@customElement('lab-experiment')
export class LabExperiment extends LabElement {
  @property({ attribute: false }) cell!: ExperimentCell;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) session!: TrainerSession;
  /** The run this cell shows; null before the first. */
  @state() private runId: string | null = null;
  @state() private error: LabErrorParts | null = null;
  @state() private busy = false;
  /** A command that was given and has not yet had its effect. */
  @state() private pending: RunCommand | null = null;
  /** How often the run had paused when the pending command was given. */
  private pausesBefore = 0;
  /** Fields with something unusable in them. */
  @state() private invalid: ReadonlyMap<EventTarget, FieldValidity> = new Map();
  private readonly recordedRuns = new RecordedRuns(this, () => this.services);
  private source: ((listener: (events: readonly WatchEvent[]) => void) => () => void) | null = null;
  private readonly onSession = () => {
    if (this.pending !== null && !this.busy && this.settled(this.pending)) this.pending = null;
    this.adopt();
    this.requestUpdate();
  };

  static override styles = [baseStyles, experimentStyles];

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.onSession);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.onSession);
  }

  private get preset() {
    return Object.hasOwn(this.services.presets, this.cell.preset) ? this.services.presets[this.cell.preset] : undefined;
  }
  private get config(): RunConfig {
    return cellConfig(this.cell, this.preset);
  }
  private get view(): RunView | null {
    return this.runId === null ? null : this.session.run(this.runId);
  }
  private get stored(): RunSummary | null {
    return this.session.stored.find((r) => r.header.runId === this.runId) ?? null;
  }
  private get active(): boolean {
    return this.runId !== null && this.session.activeRunId === this.runId;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('cell')) this.adopt();
  }

  /** Configuration and seed determine a run: the newest stored run of exactly this experiment is this cell's run. */
  private adopt(): void {
    if (this.active || this.busy) return;
    const shown = this.stored;
    if (shown && this.describes(shown)) return;
    const match = this.session.stored
      .filter((r) => this.describes(r))
      .sort((a, b) => b.header.createdAt.localeCompare(a.header.createdAt))[0];
    if (match) {
      this.show(match.header.runId);
      void this.session.load(match.header.runId).catch((thrown) => {
        this.error = errorParts(thrown);
      });
    }
  }

  private describes(run: RunSummary): boolean {
    return run.header.seed === this.cell.seed && sameConfig(run.header.config, this.config);
  }

  private show(runId: string): void {
    if (runId === this.runId) return;
    this.runId = runId;
    this.source = (listener) => this.session.watch(runId, listener);
  }

  /** Whether a command has had its effect. */
  private settled(command: RunCommand): boolean {
    if (!this.active) return true;
    const paused = this.status() === 'paused';
    if (command === 'pause') return paused;
    if (command === 'step') return paused && (this.view?.pauses ?? 0) !== this.pausesBefore;
    return command !== 'stop';
  }

  /** Does something with the trainer and shows what went wrong with it. */
  private async attempt(work: () => Promise<void>): Promise<void> {
    this.error = null;
    this.busy = true;
    try {
      await work();
    } catch (thrown) {
      this.error = errorParts(thrown);
      this.pending = null;
    } finally {
      this.busy = false;
      this.onSession();
    }
  }

  /** Run, pressed from elsewhere on the page; a run that is there already is only shown. */
  begin(): void {
    if (this.status() === 'none' && !this.busy && this.pending === null)
      this.command(new CustomEvent<RunCommand>('command', { detail: 'run' }));
  }

  private command(event: CustomEvent<RunCommand>): void {
    const { session } = this;
    if (event.detail === 'run' && this.obstacle() !== '') return;
    this.pending = event.detail;
    this.pausesBefore = this.view?.pauses ?? 0;
    void this.attempt(async () => {
      switch (event.detail) {
        case 'run': {
          const { preset, seed } = this.cell;
          void askPersistence(); // only a page may ask, and only when there is something to keep
          this.show(await session.start({ config: this.config, seed, preset }));
          break;
        }
        case 'resume':
          if (this.runId) await session.resume(this.runId);
          break;
        case 'pause':
          await session.api.pause();
          break;
        case 'step':
          await session.api.step();
          break;
        case 'stop':
          await session.api.stop();
          break;
      }
    });
  }

  private change(cell: ExperimentCell): void {
    this.error = null;
    this.dispatchEvent(new CustomEvent('cell-change', { detail: cell, bubbles: true, composed: true }));
  }

  /** Why Run would not run what the page shows; empty when it would. */
  private obstacle(): string {
    if (!this.preset) return 'Choose a preset that this page has.';
    const [field] = this.invalid.values();
    if (field) return `Correct ${field.label} first. ${field.problem}`;
    const [issue] = configIssues(this.config);
    return issue ? 'Correct the parameters first; what is wrong is said above.' : '';
  }

  private onValidity(event: CustomEvent<FieldValidity>): void {
    const [field] = event.composedPath();
    if (!field) return;
    const invalid = new Map(this.invalid);
    if (event.detail.problem) invalid.set(field, event.detail);
    else invalid.delete(field);
    this.invalid = invalid;
  }

  private status(): BarStatus {
    if (this.runId === null) return 'none';
    const live = this.view?.progress?.status;
    if (this.active) return live ?? 'preparing';
    if (this.view?.error) return 'failed';
    if (this.stored?.liveElsewhere) return 'elsewhere';
    const stored = this.stored?.status ?? live ?? 'stopped';
    return stored === 'running' || stored === 'paused' || stored === 'preparing' || stored === 'idle'
      ? 'interrupted'
      : stored;
  }

  /** The recorded run of what is shown: never beneath anything else, nor beside a field with something else in it. */
  private recorded(config: RunConfig): RecordedRun | null {
    if (this.runId === null && this.obstacle() !== '') return null;
    return this.recordedRuns.of(config, this.stored?.header.seed ?? this.cell.seed);
  }

  /** Before the first run: what will be seen, and how long it takes. */
  private expectation(recorded: RecordedRun | null) {
    const { recordedRuns, config } = this;
    if (recordedRuns.error)
      return html`<p class="row quiet failed" role="status">
        The recorded run could not be loaded: ${recordedRuns.error.what}.
        <wa-button size="s" appearance="plain" data-retry-recorded @click=${() => recordedRuns.retry()}>Retry</wa-button>
      </p>`;
    if (this.obstacle() !== '' || (!recorded && !recordedRuns.lacks(config, this.cell.seed))) return nothing;
    return html`<lab-expectation
      .session=${this.session}
      .config=${config}
      .preset=${this.cell.preset}
      .index=${recordedRuns.index ?? []}
      .recorded=${recorded !== null}
    ></lab-expectation>`;
  }

  protected override render() {
    const { preset, config, view, stored } = this;
    const status = this.status();
    const [issue] = preset ? configIssues(config) : [];
    const shownConfig = this.runId && stored ? stored.header.config : config;
    const recorded = this.recorded(shownConfig);
    const differs = stored !== null && (!this.describes(stored) || this.invalid.size > 0);
    const unknownPreset: LabErrorParts | null = preset
      ? null
      : {
          code: 'notebook.unknown-preset',
          what: `This page has no preset called "${this.cell.preset}"`,
          expected: Object.keys(this.services.presets).join(', '),
          got: this.cell.preset,
          fix: 'Choose another preset.',
        };
    return html`
      <div class="frame">
        <lab-setup
          .cell=${this.cell}
          .services=${this.services}
          .config=${config}
          .standard=${presetConfig(preset)}
          @validity=${this.onValidity}
          @cell=${(e: CustomEvent<ExperimentCell>) => this.change(e.detail)}
          @parameter=${(e: CustomEvent<{ name: ConfigName; value: RunConfig[ConfigName] }>) =>
            this.change(withParameter(this.cell, preset, e.detail.name, e.detail.value))}
        ></lab-setup>
        ${unknownPreset ? html`<lab-error .error=${unknownPreset}></lab-error>` : nothing}
        ${issue ? html`<lab-error .error=${issue}></lab-error>` : nothing}
        <lab-run-bar
          .status=${status}
          .progress=${view?.progress ?? null}
          .done=${view?.records.length ? ordinal(view.records.at(-1)?.iteration ?? 0) : (stored?.iterations ?? 0)}
          .iterations=${shownConfig.iterations}
          .device=${this.session.device}
          .alarms=${view ? [...view.alarms.values()] : []}
          .busy=${this.busy}
          .pending=${this.pending}
          .obstacle=${this.obstacle()}
          .changed=${differs}
          @command=${this.command}
        ></lab-run-bar>
        ${
          this.error
            ? html`<lab-error .error=${this.error} dismissible @dismiss=${() => {
                this.error = null;
              }}></lab-error>`
            : nothing
        }
        ${view?.error ? html`<lab-error .error=${view.error}></lab-error>` : nothing}
        ${!view && this.session.error ? html`<lab-error .error=${this.session.error}></lab-error>` : nothing}
        ${this.runId === null ? this.expectation(recorded) : nothing}
        <lab-watch
          .window=${shownConfig.window}
          .reserve=${compactThreshold(shownConfig)}
          .invalid=${stored === null && this.obstacle() !== ''}
          .source=${this.source}
        ></lab-watch>
        ${
          view || recorded
            ? html`<lab-charts
                .records=${view?.records ?? []}
                .recorded=${recorded}
                .version=${view?.version ?? 0}
                .iterations=${shownConfig.iterations}
                .name=${`${this.cell.preset}-seed-${stored?.header.seed ?? this.cell.seed}`}
              ></lab-charts>`
            : nothing
        }
      </div>
    `;
  }
}
