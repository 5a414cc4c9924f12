/** What happens where WebGPU is missing: runs use jax-js on WebAssembly, at a speed measured here; and how to get WebGPU. */
import { css, html, LitElement, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { LabErrorParts } from '../core/errors';
import type { FallbackSpeed } from '../core/protocol/protocol';
import { baseStyles } from './styles';

type Browser = 'chrome' | 'firefox' | 'safari' | 'other';

function browser(): Browser {
  const agent = navigator.userAgent;
  if (/Firefox\//.test(agent)) return 'firefox';
  if (/(Chrome|Chromium|Edg)\//.test(agent)) return 'chrome';
  return /Safari\//.test(agent) ? 'safari' : 'other';
}

const HELP: readonly (readonly [Browser, string, string])[] = [
  [
    'chrome',
    'Chrome, Edge',
    'Version 113 or later has WebGPU. Open chrome://gpu and look for “WebGPU”; switch on hardware acceleration in the settings under System. On Linux it may need chrome://flags/#enable-unsafe-webgpu.',
  ],
  ['safari', 'Safari', 'Version 26 or later has WebGPU, on macOS, iOS and iPadOS.'],
  [
    'firefox',
    'Firefox',
    'Version 141 or later on Windows, 145 or later on Macs with Apple silicon. Elsewhere set dom.webgpu.enabled to true in about:config.',
  ],
];

/** Two digits: a timing of a second is no better. */
const perSecond = (rate: number) => rate.toLocaleString('en', { maximumSignificantDigits: 2 });

@customElement('lab-webgpu-help')
export class LabWebgpuHelp extends LitElement {
  /** What the trainer said, when it was asked. */
  @property({ attribute: false }) error: LabErrorParts | null = null;
  /** Null while it is being measured. */
  @property({ attribute: false }) speed: FallbackSpeed | LabErrorParts | null = null;

  static override styles = [
    baseStyles,
    css`
      section { border: 1px solid var(--line-strong); border-left-width: 4px; border-radius: 0 8px 8px 0; padding: 1rem 1.2rem; font-size: 0.925rem; line-height: 1.5; }
      h2 { margin: 0 0 0.4rem; font-size: 1.05rem; }
      p { margin: 0 0 0.6rem; }
      dl { margin: 0.4rem 0 0; }
      dt { font-weight: 600; }
      dd { margin: 0 0 0.4rem; color: var(--ink-2); }
      .mine { border-left: 3px solid var(--ink); padding-left: 0.7rem; }
      code { font-family: var(--font-mono); font-size: 0.86em; }
    `,
  ];

  private measured() {
    const { speed } = this;
    if (!speed) return 'Measuring its speed on this machine …';
    if ('code' in speed) return html`<b>It does not work in this browser:</b> ${speed.what}.`;
    const [decode, update] = [speed.decodeTokensPerSecond, speed.updateTokensPerSecond].map(perSecond);
    return html`Measured here just now, with the quick model: <b>${decode} tokens per second</b> sampled by 64 episodes at once,
      <b>${update} tokens per second</b> of a policy update.`;
  }

  protected override render() {
    const mine = browser();
    const { error } = this;
    const secure = globalThis.isSecureContext;
    return html`<section role="note">
      <h2>No WebGPU here: runs use the processor instead of the graphics card</h2>
      <p>Whatever engine a configuration names, runs use <b>jax-js on WebAssembly</b>: the same model and loss, equal up to rounding. The run’s record says so.</p>
      <p role="status" class="speed">${this.measured()}</p>
      ${
        secure
          ? nothing
          : html`<p><b>This page was opened without encryption.</b> Browsers offer WebGPU only over https or on localhost.</p>`
      }
      ${error ? html`<p>Why: ${error.what}.${error.fix ? html` ${error.fix}` : nothing}</p>` : nothing}
      <dl>
        ${[...HELP]
          .sort((a, b) => Number(b[0] === mine) - Number(a[0] === mine))
          .map(
            ([id, name, help]) =>
              html`<div class=${id === mine ? 'mine' : ''}><dt>${name}${id === mine ? ' (yours)' : ''}</dt><dd>${help}</dd></div>`,
          )}
      </dl>
      <p>Or train from the command line: <code>npm run --silent lab -- run quick</code></p>
    </section>`;
  }
}
