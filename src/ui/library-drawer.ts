/** The drawer with what this browser keeps: notebooks and runs. */
import { css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { nonDefault } from '../core/config/config';
import { configTable } from '../core/config/config-table';
import { errorParts, LabError, type LabErrorParts } from '../core/errors';
import type { RunSummary } from '../core/protocol/protocol';
import { documentFromFile } from '../notebook/document';
import { limits } from '../notebook/limits';
import { download } from './download';
import { LabElement } from './lab-element';
import './error-panel';
import { presetConfig, valueText } from './experiment-parameters';
import { bytes, percent, shortDate } from './format';
import type { Library } from './library';
import type { LabServices, ShippedNotebook } from './services';
import { baseStyles } from './styles';
import type { TrainerSession } from './trainer-session';

const STATUS: Readonly<Record<RunSummary['status'], string>> = {
  idle: 'interrupted',
  preparing: 'interrupted',
  running: 'interrupted',
  paused: 'interrupted',
  finished: 'finished',
  stopped: 'stopped',
  failed: 'failed',
};

@customElement('lab-library')
export class LabLibrary extends LabElement {
  @property({ attribute: false }) library!: Library;
  @property({ attribute: false }) services!: LabServices;
  @property({ attribute: false }) session!: TrainerSession;
  @state() private open = false;
  /** The notebook or run whose deletion waits for a second press. */
  @state() private confirming: string | null = null;
  @state() private error: LabErrorParts | null = null;
  private readonly onChange = () => {
    if (this.open) this.requestUpdate();
  };

  static override styles = [
    baseStyles,
    css`
      wa-drawer:not(:defined) { display: none; }
      wa-drawer { --size: min(30rem, 100vw); }
      h2 { font: 600 1.02rem/1.3 var(--font-ui); margin: 1.8rem 0 0.4rem; }
      h2:first-of-type { margin-top: 0; }
      lab-error { margin-bottom: 1.6rem; }
      ul { list-style: none; margin: 0; padding: 0; }
      li { padding: 0.7rem 0; border-top: 1px solid var(--line); }
      li:last-child { border-bottom: 1px solid var(--line); }
      .name { font-weight: 600; overflow-wrap: anywhere; }
      .meta { font-size: 0.82rem; color: var(--ink-3); margin: 0.1rem 0 0.35rem; }
      .row { gap: 0.35rem; }
      .empty { color: var(--ink-3); font-size: 0.9rem; margin: 0.3rem 0; }
      label.file { display: inline-flex; align-items: center; gap: 0.4rem; cursor: pointer; font-size: 0.875rem; padding: 0.4rem 0.2rem; text-decoration: underline; text-underline-offset: 3px; }
      label.file:focus-within { outline: 2px solid var(--focus); border-radius: 4px; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.session.addEventListener('change', this.onChange);
    this.library.addEventListener('change', this.onChange);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session.removeEventListener('change', this.onChange);
    this.library.removeEventListener('change', this.onChange);
  }

  show(): void {
    this.open = true;
    this.confirming = null;
    void this.attempt(async () => {
      await this.session.connect();
      await this.session.refreshRuns();
    });
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    this.error = null;
    try {
      await work();
    } catch (thrown) {
      this.error = errorParts(thrown);
    }
  }

  private async readFile(event: Event): Promise<void> {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (!file) return;
    await this.attempt(async () => {
      if (file.size > 2 * limits.jsonBytes)
        throw new LabError({
          code: 'file.too-large',
          what: 'The file is too large for a notebook',
          where: file.name,
          expected: `at most ${bytes(2 * limits.jsonBytes)}`,
          got: bytes(file.size),
          fix: 'Choose a notebook file saved by this page.',
        });
      await this.library.openDocument(documentFromFile(await file.text()));
      this.open = false;
    });
    input.value = '';
  }

  private deletion(id: string, what: string, act: () => Promise<void>) {
    return this.confirming === id
      ? html`<wa-button size="xs" variant="danger" @click=${() =>
          this.attempt(async () => {
            await act();
            this.confirming = null;
          })}>Delete for good</wa-button>
          <wa-button size="xs" appearance="plain" @click=${() => {
            this.confirming = null;
          }}>Keep</wa-button>`
      : html`<wa-button size="xs" appearance="plain" @click=${() => {
          this.confirming = id;
        }}><wa-icon slot="start" name="trash"></wa-icon>Delete<span class="visually-hidden"> ${what}</span></wa-button>`;
  }

  protected override render() {
    return html`<wa-drawer label="Notebooks and runs" ?open=${this.open} light-dismiss @wa-after-hide=${(e: Event) => {
      if (e.target === e.currentTarget) this.open = false;
    }}>
      ${this.open ? this.content() : nothing}
    </wa-drawer>`;
  }

  private content() {
    const { library, session } = this;
    return html`
      ${this.error ? html`<lab-error .error=${this.error}></lab-error>` : nothing}
      <h2>My notebooks</h2>
      <ul>
        ${library.shipped.map((notebook) => this.shipped(notebook))}
        ${library.notebooks.map(
          (saved) => html`<li>
            <div class="name">${saved.title || 'Untitled notebook'}</div>
            <div class="meta">saved ${shortDate(saved.updatedAt)}${saved.id === library.id ? ' · open now' : ''}</div>
            <div class="row">
              <wa-button size="xs" appearance="outlined" ?disabled=${saved.id === library.id} @click=${() =>
                this.attempt(async () => {
                  await library.open(saved.id);
                  this.open = false;
                })}>Open</wa-button>
              ${this.deletion(saved.id, saved.title, () => library.delete(saved.id))}
            </div>
          </li>`,
        )}
      </ul>
      <label class="file">
        <wa-icon name="folder"></wa-icon>Open a notebook file
        <input class="visually-hidden" type="file" accept=".json,application/json" @change=${this.readFile} />
      </label>
      <h2>My runs</h2>
      ${session.stored.length === 0 ? html`<p class="empty">None yet. Every run started here is kept in this browser.</p>` : nothing}
      <ul>
        ${session.stored.map((run) => this.run(run))}
      </ul>
    `;
  }

  private shipped(notebook: ShippedNotebook) {
    const { title } = notebook.document;
    return html`<li>
      <div class="name">${title}</div>
      <div class="meta">${notebook.about}</div>
      <div class="row">
        <wa-button size="xs" appearance="outlined" @click=${() =>
          this.attempt(async () => {
            await this.library.openShipped(notebook);
            this.open = false;
          })}>Open<span class="visually-hidden"> ${title}</span></wa-button>
      </div>
    </li>`;
  }

  private run(run: RunSummary) {
    const { header } = run;
    const active = header.runId === this.session.activeRunId;
    const preset = header.preset === null ? undefined : this.services.presets[header.preset];
    const changes = Object.entries(nonDefault(header.config, presetConfig(preset))) as [
      keyof typeof configTable,
      never,
    ][];
    const resumable =
      !active && !run.liveElsewhere && run.status !== 'finished' && run.iterations < header.config.iterations;
    const stem = `${header.preset ?? 'run'}-seed-${header.seed}`;
    const paused = this.session.run(header.runId)?.progress?.status === 'paused';
    const here = paused ? 'paused here' : 'running here';
    const status = active ? here : run.liveElsewhere ? 'running in another tab' : STATUS[run.status];
    return html`<li>
      <div class="name">${preset?.title ?? header.preset ?? 'Custom'}, seed ${header.seed}</div>
      <div class="meta num">
        ${status} · iteration ${run.iterations} of ${header.config.iterations}
        ${run.lastEvalSuccess === null ? nothing : html`· held-out success ${percent(run.lastEvalSuccess)}`} ·
        ${bytes(run.sizeBytes)} · ${shortDate(header.createdAt)}
        ${changes.length > 0 ? html`<br />${changes.map(([n, v]) => `${configTable[n].label}: ${valueText(n, v)}`).join(', ')}` : nothing}
      </div>
      <div class="row">
        ${
          resumable
            ? html`<wa-button size="xs" variant="brand" @click=${() => this.pick(run, true)}>
                <wa-icon slot="start" name="play"></wa-icon>Resume</wa-button>`
            : nothing
        }
        <wa-button size="xs" appearance="outlined" @click=${() => this.pick(run, false)}>Show</wa-button>
        <wa-button size="xs" appearance="plain" @click=${() =>
          this.attempt(async () =>
            download(await this.session.api.exportTrajectories(header.runId), `${stem}.jsonl`),
          )}><wa-icon slot="start" name="download"></wa-icon>Trajectories</wa-button>
        <wa-button size="xs" appearance="plain" @click=${() =>
          this.attempt(async () =>
            download(await this.session.api.exportCheckpoint(header.runId), `${stem}.safetensors`),
          )}><wa-icon slot="start" name="download"></wa-icon>Checkpoint</wa-button>
        ${run.liveElsewhere ? nothing : this.deletion(header.runId, `run ${stem}`, () => this.session.deleteRun(header.runId))}
      </div>
    </li>`;
  }

  /** Asks the page to show a run in a cell, and perhaps to resume it. */
  private pick(run: RunSummary, resume: boolean): void {
    this.open = false;
    this.dispatchEvent(new CustomEvent('show-run', { detail: { run, resume } }));
  }
}
