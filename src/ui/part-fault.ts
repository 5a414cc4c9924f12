/** Stands where a part of the page would, when that part could not be loaded: says so, why, and tries again. Else nothing. */
import { css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LabElement } from './lab-element';
import type { LazyPart } from './lazy-part';
import { baseStyles } from './styles';

/** Fires `part-ready` when the part is there after all, whoever tried again. */
@customElement('lab-part-fault')
export class LabPartFault extends LabElement {
  @property({ attribute: false }) of!: LazyPart<unknown>;
  /** Whether it says anything: what it stands for then takes no room. */
  @property({ type: Boolean, reflect: true }) failed = false;
  private listening: LazyPart<unknown> | null = null;
  private readonly follow = () => {
    const { loaded, failures } = this.of;
    const ready = loaded && this.failed;
    this.failed = !loaded && failures > 0;
    this.requestUpdate();
    if (ready) void this.updateComplete.then(() => this.dispatchEvent(new Event('part-ready')));
  };

  static override styles = [
    baseStyles,
    css`
      :host { display: block; font: 0.85rem/1.45 var(--font-ui); color: var(--ink-2); }
      :host(:not([failed])) { display: none; }
      section { border-left: 3px solid var(--danger); padding: 0.2rem 0 0.2rem 0.7rem; }
      p { margin: 0 0 0.4rem; }
      details { font-size: 0.8rem; color: var(--ink-3); margin-top: 0.3rem; overflow-wrap: anywhere; }
      summary { cursor: pointer; width: max-content; }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated) this.listen();
  }
  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.listening?.removeEventListener('change', this.follow);
    this.listening = null;
  }
  protected override willUpdate(): void {
    this.listen();
  }

  private listen(): void {
    if (this.listening === this.of) return;
    this.listening?.removeEventListener('change', this.follow);
    this.listening = this.of;
    this.of.addEventListener('change', this.follow);
    this.follow();
  }

  protected override render() {
    if (!this.failed) return nothing;
    const { title, failures, reason, loading } = this.of;
    const says =
      failures === 1
        ? `${title} could not be loaded.`
        : `${title} could not be loaded, ${failures} times now. A browser may remember a failed load until the page is reloaded: check the connection, then reload the page. A run continues from its last saved iteration.`;
    return html`<section>
      <p role="status">${loading ? `${title}: loading again …` : says}</p>
      <wa-button size="s" appearance="outlined" data-load-again ?disabled=${loading} @click=${() => void this.of.retry()}>Try again</wa-button>
      <details><summary>Reason</summary>${reason}</details>
    </section>`;
  }
}
