/** What to do where WebGPU is missing. The page stays readable; only running needs it. */
import { css, html, LitElement, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { LabErrorParts } from '../core/errors';
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

/** What the visitor of this browser can do; null for a browser we know nothing of. */
export function webgpuHint(): string | null {
  return HELP.find(([id]) => id === browser())?.[2] ?? null;
}

@customElement('lab-webgpu-help')
export class LabWebgpuHelp extends LitElement {
  /** What the trainer said, when it was asked. */
  @property({ attribute: false }) error: LabErrorParts | null = null;

  static override styles = [
    baseStyles,
    css`
      section { border-left: 4px solid var(--danger); background: var(--danger-soft); border-radius: 0 8px 8px 0; padding: 1rem 1.2rem; font-size: 0.925rem; line-height: 1.5; }
      h2 { margin: 0 0 0.4rem; font-size: 1.05rem; color: var(--danger); }
      p { margin: 0 0 0.6rem; }
      dl { margin: 0.4rem 0 0; }
      dt { font-weight: 600; }
      dd { margin: 0 0 0.4rem; color: var(--ink-2); }
      .mine { border-left: 3px solid var(--ink); padding-left: 0.7rem; }
      code { font-family: var(--font-mono); font-size: 0.86em; }
    `,
  ];

  protected override render() {
    const mine = browser();
    const { error } = this;
    const secure = globalThis.isSecureContext;
    return html`<section role="alert">
      <h2>Training needs WebGPU, and this browser offers none</h2>
      <p>You can read everything here; pressing Run will not work until WebGPU is there.</p>
      ${
        secure
          ? nothing
          : html`<p><b>This page was opened without encryption.</b> Browsers offer WebGPU only over https or on localhost.</p>`
      }
      ${error ? html`<p>The browser said: ${error.what}${error.fix ? html` ${error.fix}` : nothing}</p>` : nothing}
      <dl>
        ${[...HELP]
          .sort((a, b) => Number(b[0] === mine) - Number(a[0] === mine))
          .map(
            ([id, name, help]) =>
              html`<div class=${id === mine ? 'mine' : ''}><dt>${name}${id === mine ? ' (yours)' : ''}</dt><dd>${help}</dd></div>`,
          )}
      </dl>
      <p>Or train without a browser: <code>npm run --silent lab -- run quick</code></p>
    </section>`;
  }
}
