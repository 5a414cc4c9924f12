/** The one way the page shows an error: what, where, expected, got, how to mend it, and a button that copies all of it. */
import { css, html, LitElement, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { formatError, type LabErrorParts } from '../core/errors';
import { copyText } from './download';
import { baseStyles } from './styles';

@customElement('lab-error')
export class LabErrorPanel extends LitElement {
  @property({ attribute: false }) error!: LabErrorParts;
  @property({ type: Boolean }) dismissible = false;
  @state() private copied = false;

  static override styles = [
    baseStyles,
    css`
      :host { display: block; }
      section { border-left: 4px solid var(--danger); background: var(--danger-soft); border-radius: 0 8px 8px 0; padding: 0.9rem 1.1rem; font-size: 0.925rem; }
      h3 { margin: 0; font-size: 1rem; line-height: 1.4; color: var(--danger); display: flex; gap: 0.5rem; }
      h3 wa-icon { flex: none; margin-top: 0.2em; }
      dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 0.9rem; margin: 0.6rem 0 0; }
      dt { color: var(--ink-2); }
      dd { margin: 0; overflow-wrap: anywhere; }
      dd.mono { font-family: var(--font-mono); font-size: 0.86em; padding-top: 0.1em; }
      .fix { margin: 0.7rem 0 0; }
      .actions { margin-top: 0.8rem; }
      code { color: var(--ink-2); font-size: 0.8rem; }
    `,
  ];

  private async copy(): Promise<void> {
    this.copied = await copyText(`${formatError(this.error)} [${this.error.code}]`);
  }

  protected override render() {
    const { what, where, expected, got, fix, code } = this.error;
    const row = (label: string, value: string | undefined) =>
      value === undefined ? nothing : html`<dt>${label}</dt><dd class="mono">${value}</dd>`;
    return html`
      <section role="alert">
        <h3><wa-icon name="alert"></wa-icon><span>${what}</span></h3>
        ${where || expected || got ? html`<dl>${row('where', where)}${row('expected', expected)}${row('got', got)}</dl>` : nothing}
        ${fix ? html`<p class="fix">${fix}</p>` : nothing}
        <div class="row actions">
          <wa-button size="s" appearance="outlined" @click=${this.copy}>
            <wa-icon slot="start" name=${this.copied ? 'check' : 'copy'}></wa-icon>${this.copied ? 'Copied' : 'Copy'}
          </wa-button>
          ${
            this.dismissible
              ? html`<wa-button size="s" appearance="plain" @click=${() => this.dispatchEvent(new Event('dismiss'))}>Dismiss</wa-button>`
              : nothing
          }
          <span class="grow"></span><code>${code}</code>
        </div>
      </section>
    `;
  }
}
