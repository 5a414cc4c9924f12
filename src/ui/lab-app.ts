/** The application: top bar, notices, the open notebook. */
import { css, html, nothing, type PropertyValues } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { adapterName } from '../core/adapter-name';
import { nonDefault } from '../core/config/config';
import type { LabErrorParts } from '../core/errors';
import { errorParts } from '../core/errors';
import type { RunSummary } from '../core/protocol/protocol';
import './device-panel';
import './error-panel';
import { cellConfig, presetConfig, sameConfig } from './experiment-parameters';
import { onFirstSign } from './first-sign';
import { Library } from './library';
import './library-drawer';
import type { LabLibrary } from './library-drawer';
import './notebook-view';
import { LabElement } from './lab-element';
import type { LabNotebook } from './notebook-view';
import type { LabServices } from './services';
import { onAddressChange } from './share';
import './share-dialog';
import type { LabShare } from './share-dialog';
import { baseStyles } from './styles';
import { chooseTheme, type ThemeChoice, themeChoice } from './theme';
import { TrainerSession } from './trainer-session';
import './webgpu-help';

/** After this long without a sign of a visitor the trainer is started all the same: the page may be on a projector. */
const QUIET_MS = 3000;
const NEXT_THEME: Readonly<Record<ThemeChoice, ThemeChoice>> = { auto: 'light', light: 'dark', dark: 'auto' };
const THEME_ICON: Readonly<Record<ThemeChoice, string>> = { auto: 'auto', light: 'sun', dark: 'moon' };

@customElement('lab-app')
export class LabApp extends LabElement {
  @property({ attribute: false }) services: LabServices | null = null;
  @state() private theme = themeChoice();
  @state() private reported: LabErrorParts | null = null;
  /** What the storage has to say, by code: page and trainer may both notice the same. */
  @state() private storageNotices: readonly LabErrorParts[] = [];
  @query('lab-notebook') private notebook!: LabNotebook;
  @query('lab-share') private share!: LabShare;
  @query('lab-library') private drawer!: LabLibrary;
  private library: Library | null = null;
  private session: TrainerSession | null = null;
  private endAddress: (() => void) | null = null;
  private endWaiting: (() => void) | null = null;
  private readonly refresh = () => this.requestUpdate();
  private readonly onNotice = (event: Event) => {
    const { detail } = event as CustomEvent<LabErrorParts>;
    if (!this.storageNotices.some((n) => n.code === detail.code))
      this.storageNotices = [...this.storageNotices, detail];
  };
  private readonly leave = () => void this.library?.flush();

  static override styles = [
    baseStyles,
    css`
      :host { display: block; min-height: 100vh; padding-bottom: 5rem; }
      .skip { position: absolute; left: -100vw; }
      .skip:focus { left: 1rem; top: 0.7rem; z-index: 30; background: var(--paper); padding: 0.4rem 0.8rem; }
      header { position: sticky; top: 0; z-index: 10; background: color-mix(in oklab, var(--paper) 92%, transparent); backdrop-filter: blur(8px); border-bottom: 1px solid var(--line); }
      .bar { max-width: calc(var(--figure) + 2 * var(--gutter)); margin: 0 auto; padding: 0.4rem var(--gutter); display: flex; align-items: center; gap: 0.2rem 0.35rem; min-height: 52px; }
      .brand { display: flex; align-items: center; gap: 0.55rem; font-weight: 600; font-size: 0.95rem; white-space: nowrap; }
      .brand svg { width: 30px; height: 14px; flex: none; }
      .chip { font-size: 0.78rem; color: var(--ink-2); max-width: 16rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; margin-right: 0.5rem; }
      .chip::before { content: ''; display: inline-block; width: 7px; height: 7px; border-radius: 50%; margin-right: 0.45em; border: 1.5px solid var(--ink-3); }
      .chip.ok::before { background: var(--ink); border-color: var(--ink); }
      .saved { font-size: 0.78rem; color: var(--ink-3); margin-right: 0.4rem; white-space: nowrap; }
      .notices { max-width: var(--column); margin: 1.4rem auto 0; padding: 0 var(--gutter); display: grid; gap: 0.9rem; box-sizing: content-box; }
      .notices:empty { display: none; }
      .fork { border: 1px solid var(--line-strong); border-radius: 8px; padding: 0.8rem 1rem; display: flex; flex-wrap: wrap; gap: 0.6rem 1rem; align-items: center; font-size: 0.925rem; }
      .fork p { margin: 0; flex: 1 1 18rem; }
      @media (max-width: 760px) { .saved { display: none; } }
      @media (max-width: 640px) {
        .chip { max-width: none; margin: 0; overflow: visible; width: 22px; height: 24px; text-indent: 40px; position: relative; overflow: hidden; }
        .chip::before { position: absolute; left: 6px; top: 8px; margin: 0; }
        .label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      }
      footer { max-width: var(--column); margin: 4rem auto 0; padding: 1.2rem var(--gutter) 0; font-size: 0.82rem; color: var(--ink-3); box-sizing: content-box; line-height: 1.55; }
      lab-device-panel { display: block; margin-bottom: 0.9rem; }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('services') || !this.services || this.library) return;
    this.session = new TrainerSession(() => (this.services as LabServices).createTrainer());
    this.library = new Library(this.services);
    this.session.addEventListener('change', this.refresh);
    this.library.addEventListener('change', this.refresh);
    this.session.addEventListener('notice', this.onNotice);
    this.library.addEventListener('notice', this.onNotice);
    // The trainer's worker is not needed to read, and it is a quarter of what a first visit would load.
    void this.library.start().then(() => {
      if (this.isConnected)
        this.endWaiting = onFirstSign(() => {
          // A part that is missing is the page's to report (main.ts).
          void import('./late-components').catch(() => {});
          void this.session?.connect();
        }, QUIET_MS);
    });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.endAddress = onAddressChange(() => void this.library?.followAddress());
    addEventListener('pagehide', this.leave);
    document.addEventListener('visibilitychange', this.leave);
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.endAddress?.();
    this.endWaiting?.();
    removeEventListener('pagehide', this.leave);
    document.removeEventListener('visibilitychange', this.leave);
  }

  /** Shows an error that belongs to no cell. */
  report(error: LabErrorParts): void {
    this.reported = error;
  }

  private showRun({ run, resume }: { run: RunSummary; resume: boolean }): void {
    const { library, services, session } = this;
    if (!library || !services || !session) return;
    const { model } = library;
    const { header } = run;
    const fits = model.items.find(
      ({ cell }) =>
        cell.kind === 'experiment' &&
        cell.seed === header.seed &&
        sameConfig(cellConfig(cell, services.presets[cell.preset]), header.config),
    );
    const preset = header.preset !== null && Object.hasOwn(services.presets, header.preset) ? header.preset : 'quick';
    const key =
      fits?.key ??
      model.insert(model.items.length, {
        kind: 'experiment',
        preset,
        seed: header.seed,
        config: nonDefault(header.config, presetConfig(services.presets[preset])),
      });
    void this.notebook.focusCell(key);
    if (resume)
      void session.resume(header.runId).catch((thrown) => {
        this.reported = errorParts(thrown);
      });
  }

  protected override render() {
    const { library, session, services } = this;
    if (!library || !session || !services) return nothing;
    return html`
      <a class="skip" href="#main" @click=${(e: Event) => {
        // A plain jump would put #main where a notebook's link goes.
        e.preventDefault();
        this.renderRoot.querySelector<HTMLElement>('main')?.focus();
      }}>Skip to the notebook</a>
      <header>
        <div class="bar">
          <span class="brand">${logo}<span class="label">compaction-lab</span></span>
          <span class="grow"></span>
          ${library.savedAt ? html`<span class="saved" role="status">${library.persistent ? 'Saved' : 'Kept until the tab closes'}</span>` : nothing}
          ${this.chip()}
          <wa-button size="s" appearance="plain" class="share" @click=${() => this.share.show(library.model.document)}>
            <wa-icon slot="start" name="share"></wa-icon>Share
          </wa-button>
          <wa-button size="s" appearance="plain" class="library" @click=${() => this.drawer.show()}>
            <wa-icon slot="start" name="folder"></wa-icon>My runs
          </wa-button>
          <wa-button size="s" appearance="plain" @click=${() => {
            this.theme = NEXT_THEME[this.theme];
            chooseTheme(this.theme);
          }}><wa-icon name=${THEME_ICON[this.theme]} label=${`Theme: ${this.theme}. Change to ${NEXT_THEME[this.theme]}`}></wa-icon></wa-button>
        </div>
      </header>
      <main id="main" tabindex="-1">
        <div class="notices">${this.notices()}</div>
        <lab-notebook .model=${library.model} .services=${services} .session=${session}></lab-notebook>
      </main>
      <footer>
        <lab-device-panel .session=${session}></lab-device-panel>
        Everything here happens on this machine: training on its graphics card (or, where there is no WebGPU, its processor), terminals in workers, notebooks and runs in
        this browser’s storage. No account, no server, no tracking.
      </footer>
      <lab-share></lab-share>
      <lab-library .library=${library} .services=${services} .session=${session} @show-run=${(e: CustomEvent) => this.showRun(e.detail)}></lab-library>
    `;
  }

  private chip() {
    const device = this.session?.device;
    if (device?.available === false)
      return html`<span class="chip" title="WebGPU is missing: trains with jax-js on WebAssembly">no WebGPU</span>`;
    return html`<span class="chip ${device ? 'ok' : ''}" title=${device ? `Trains on: ${adapterName(device)}` : 'Looking for the graphics adapter'}>
      ${device ? adapterName(device) : 'adapter …'}</span>`;
  }

  private notices() {
    const { library, session } = this;
    if (!library || !session) return nothing;
    const missing = session.device?.available === false;
    return html`${
      this.reported
        ? html`<lab-error .error=${this.reported} dismissible @dismiss=${() => {
            this.reported = null;
          }}></lab-error>`
        : nothing
    }${
      library.error
        ? html`<lab-error .error=${library.error} dismissible @dismiss=${() => library.dismissError()}></lab-error>`
        : nothing
    }${this.storageNotices.map(
      (notice) =>
        html`<lab-error .error=${notice} dismissible @dismiss=${() => {
          this.storageNotices = this.storageNotices.filter((n) => n !== notice);
        }}></lab-error>`,
    )}${missing ? html`<lab-webgpu-help .error=${session.device?.error ?? null} .speed=${session.fallback}></lab-webgpu-help>` : nothing}${
      library.origin === 'link'
        ? html`<div class="fork" role="note">
            <p><b>Opened from a link.</b> Nothing runs until you press Run, and your own notebooks are untouched.</p>
            <div class="row">
              <wa-button size="s" variant="brand" @click=${() => library.saveCopy()}>Save a copy</wa-button>
              <wa-button size="s" appearance="plain" @click=${() =>
                library.notebooks[0]
                  ? library.open(library.notebooks[0].id)
                  : library.openHome()}>Back to mine</wa-button>
            </div>
          </div>`
        : nothing
    }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'lab-app': LabApp;
  }
}

/** A context bar that folds. */
const logo = html`<svg viewBox="0 0 30 14" aria-hidden="true">
  <rect x="0" y="2" width="11" height="10" rx="1.5" fill="var(--action)" />
  <path d="M13 2l4 1.5v9L13 12zM17 3.5L21 2v10l-4 1.5z" fill="var(--summary)" />
  <rect x="23" y="2" width="7" height="10" rx="1.5" fill="none" stroke="var(--line-strong)" stroke-dasharray="2 2" />
</svg>`;
