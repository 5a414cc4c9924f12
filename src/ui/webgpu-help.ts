/** Where WebGPU is missing: one line with the measured speed of what runs use instead; unfolded, why, and how to get WebGPU. */
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
      details { font-size: 0.875rem; line-height: 1.5; color: var(--ink-2); }
      summary { cursor: pointer; min-height: 24px; }
      summary .why { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; white-space: nowrap; }
      details[open] .why { text-decoration: none; }
      .more { margin-top: 0.5rem; padding-left: 1rem; border-left: 1px solid var(--line-strong); overflow-wrap: anywhere; }
      p { margin: 0 0 0.6rem; }
      .more > :last-child { margin-bottom: 0; }
      dl { margin: 0.4rem 0 0.6rem; }
      dt { font-weight: 600; color: var(--ink); }
      dd { margin: 0 0 0.4rem; }
      code { font-family: var(--font-mono); font-size: 0.86em; }
    `,
  ];

  /** One line: where runs are computed, and how fast. */
  private line() {
    const { speed } = this;
    if (!speed) return 'Runs on the processor here: measuring its speed …';
    if ('code' in speed) return html`<b>Runs do not work in this browser.</b>`;
    return html`Runs on the processor here: <span class="num">${perSecond(speed.decodeTokensPerSecond)} tokens</span> a second.`;
  }

  private measured() {
    const { speed } = this;
    if (!speed) return nothing;
    if ('code' in speed) return html`<p>${speed.what}.${speed.fix ? html` ${speed.fix}` : nothing}</p>`;
    const [decode, update] = [speed.decodeTokensPerSecond, speed.updateTokensPerSecond].map(perSecond);
    return html`<p class="speed num">Measured here just now, with the quick model: ${decode} tokens per second sampled by
      64 episodes at once, ${update} tokens per second of a policy update.</p>`;
  }

  protected override render() {
    const mine = browser();
    const { error } = this;
    return html`<details>
      <summary>${this.line()} <span class="why">Why?</span></summary>
      <div class="more">
        <p>There is no WebGPU here. Whatever engine a configuration names, runs use jax-js on WebAssembly: the same model
          and loss, equal up to rounding. The run’s record says so.</p>
        ${error ? html`<p>${error.what}.${error.fix ? html` ${error.fix}` : nothing}</p>` : nothing}
        ${
          globalThis.isSecureContext
            ? nothing
            : html`<p><b>This page was opened without encryption.</b> Browsers offer WebGPU only over https or on localhost.</p>`
        }
        ${this.measured()}
        <dl>
          ${[...HELP]
            .sort((a, b) => Number(b[0] === mine) - Number(a[0] === mine))
            .map(([id, name, help]) => html`<dt>${name}${id === mine ? ' (yours)' : ''}</dt><dd>${help}</dd>`)}
        </dl>
        <p>Or train from the command line: <code>npm run --silent lab -- run quick</code></p>
      </div>
    </details>`;
  }
}
