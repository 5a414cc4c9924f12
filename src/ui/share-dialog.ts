/** Share: the whole notebook as one link, with its size, copied on request; or as a file. */
import { css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { errorParts, type LabErrorParts } from '../core/errors';
import { documentToFile, type NotebookDocument } from '../notebook/document';
import { copyText, download } from './download';
import { LabElement } from './lab-element';
import './error-panel';
import { bytes } from './format';
import { makeLink, type ShareLink, showInAddress } from './share';
import { baseStyles } from './styles';

@customElement('lab-share')
export class LabShare extends LabElement {
  @property({ attribute: false }) document!: NotebookDocument;
  @state() private open = false;
  @state() private link: ShareLink | null = null;
  @state() private copied: 'no' | 'yes' | 'refused' = 'no';
  @state() private error: LabErrorParts | null = null;
  @query('.link') private field!: HTMLElement & { select(): void };

  static override styles = [
    baseStyles,
    css`
      wa-dialog:not(:defined) { display: none; }
      wa-dialog { --width: min(36rem, calc(100vw - 2rem)); }
      p { margin: 0 0 0.9rem; line-height: 1.5; }
      .link::part(input) { font-family: var(--font-mono); font-size: 0.8rem; }
      .row { margin-top: 0.9rem; }
      .size { font-size: 0.875rem; color: var(--ink-2); }
    `,
  ];

  /** Makes the link and shows the dialog. */
  async show(document: NotebookDocument): Promise<void> {
    this.document = document;
    this.link = null;
    this.error = null;
    this.copied = 'no';
    this.open = true;
    try {
      this.link = await makeLink(document);
      showInAddress(this.link.url);
      await this.copy();
    } catch (thrown) {
      this.error = errorParts(thrown);
    }
  }

  private async copy(): Promise<void> {
    if (!this.link) return;
    this.copied = (await copyText(this.link.url)) ? 'yes' : 'refused';
    if (this.copied === 'refused') this.field?.select();
  }

  protected override render() {
    const { link } = this;
    return html`<wa-dialog label="Share this notebook" ?open=${this.open} light-dismiss @wa-after-hide=${(e: Event) => {
      if (e.target === e.currentTarget) this.open = false;
    }}>
      <p>
        The link holds the whole notebook: its text and every experiment’s settings. It goes behind the # of the address, so
        no server sees it. Whoever opens it gets a copy; nothing runs until they press Run.
      </p>
      ${this.error ? html`<lab-error .error=${this.error}></lab-error>` : nothing}
      ${
        link
          ? html`<wa-input class="link" label="Link" readonly .value=${link.url}></wa-input>
              <div class="row">
                <wa-button variant="brand" @click=${this.copy}>
                  <wa-icon slot="start" name=${this.copied === 'yes' ? 'check' : 'copy'}></wa-icon>Copy link
                </wa-button>
                <wa-button appearance="outlined" @click=${() => download(documentToFile(this.document), 'notebook.json', 'application/json')}>
                  <wa-icon slot="start" name="download"></wa-icon>Save as file
                </wa-button>
                <span class="size num" role="status">
                  ${this.copied === 'yes' ? 'Copied, ' : this.copied === 'refused' ? 'Copy it from the field, ' : ''}${bytes(link.sizeBytes)}
                </span>
              </div>
              ${
                link.long ? html`<p class="size">Some chat programs cut links this long. A file is safer.</p>` : nothing
              }`
          : nothing
      }
    </wa-dialog>`;
  }
}
