/** xterm.js in this element's shadow root, loaded when it first comes near the view. Everything written to it is sanitised. */
import type { Terminal } from '@xterm/xterm';
import xtermCss from '@xterm/xterm/css/xterm.css?inline';
import { css, html, unsafeCSS } from 'lit';
import { customElement, query } from 'lit/decorators.js';
import { LabElement } from '../lab-element';
import { LazyPart } from '../lazy-part';
import '../part-fault';
import { onTheme } from '../theme';
import { sanitise } from './sanitise';
import { readable } from './watch-model';

const FONT_SIZE = 13;
const ROWS = 13;
const SCROLLBACK = 400;
/** The most characters kept for a terminal nobody has seen yet: what it could show at its widest. */
const MAX_WAITING = (ROWS + SCROLLBACK) * 160;
/** How far below the view loading begins, so that a reader who scrolls on finds the terminal there. */
const NEAR = '200px';

export const xtermPart = new LazyPart('The terminal', () => import('@xterm/xterm'));

/** Terminal styles of the kinds: palette entries, so that a change of theme recolours what is on screen already. */
const SGR: Readonly<Record<string, string>> = {
  context: '\x1b[90m',
  start: '\x1b[90m',
  action: '\x1b[1;34m',
  observation: '\x1b[37m',
  summary: '\x1b[4;33m',
  carried: '\x1b[3;4;33m',
  compact: '\x1b[90m',
  end: '\x1b[1m',
};
const RESET = '\x1b[0m';

@customElement('lab-terminal')
export class LabTerminal extends LabElement {
  @query('.host') private host!: HTMLElement;
  private terminal: Terminal | null = null;
  private waiting: { kind: string; text: string }[] = [];
  private waitingChars = 0;
  private lastKind = '';
  private atLineStart = true;
  private endTheme: (() => void) | null = null;
  private readonly resize = new ResizeObserver(() => this.fit());
  private readonly sight = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      this.sight.disconnect();
      void this.open();
    },
    { rootMargin: NEAR },
  );

  static override styles = [
    unsafeCSS(xtermCss),
    css`
      :host { display: block; }
      lab-part-fault { position: relative; z-index: 1; padding: 0.6rem 0.75rem; border-radius: 6px; background: var(--sunken); }
      lab-part-fault[failed] + .host { display: none; }
      .host { height: ${ROWS * 18}px; padding: 0.6rem 0.75rem; border-radius: 6px; background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line); overflow: hidden; }
      .xterm .xterm-viewport { background: transparent !important; }
    `,
  ];

  protected override render() {
    // The transcript beside it carries the same text for assistive technology.
    return html`<lab-part-fault .of=${xtermPart} @part-ready=${() => void this.open()}></lab-part-fault>
      <div class="host" aria-hidden="true"></div>`;
  }

  protected override firstUpdated(): void {
    this.sight.observe(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // Moved in the notebook: before the first drawing there is nothing yet to open the terminal in.
    if (this.hasUpdated) this.sight.observe(this);
  }

  private async open(): Promise<void> {
    const xterm = await xtermPart.get();
    if (!xterm || !this.isConnected || this.terminal) return;
    this.terminal = new xterm.Terminal({
      rows: ROWS,
      cols: 60,
      fontSize: FONT_SIZE,
      lineHeight: 1.25,
      fontFamily: getComputedStyle(this).getPropertyValue('--font-mono'),
      scrollback: SCROLLBACK,
      disableStdin: true,
      cursorBlink: false,
      cursorInactiveStyle: 'none',
      convertEol: true,
      allowTransparency: true,
      theme: this.colors(),
    });
    this.terminal.open(this.host);
    for (const area of this.host.querySelectorAll('textarea')) area.tabIndex = -1;
    this.endTheme = onTheme(() => {
      if (this.terminal) this.terminal.options.theme = this.colors();
    });
    this.resize.observe(this.host);
    this.fit();
    const waiting = this.waiting;
    this.forget();
    for (const { kind, text } of waiting) this.write(kind, text);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sight.disconnect();
    this.resize.disconnect();
    this.endTheme?.();
    this.terminal?.dispose();
    this.terminal = null;
  }

  private colors() {
    const style = getComputedStyle(this);
    const token = (name: string) => style.getPropertyValue(name).trim();
    return {
      background: token('--sunken'),
      foreground: token('--ink'),
      cursor: token('--sunken'),
      blue: token('--action'),
      brightBlue: token('--action'),
      yellow: token('--summary'),
      brightYellow: token('--summary'),
      white: token('--ink-2'),
      brightBlack: token('--ink-3'),
      selectionBackground: token('--line'),
    };
  }

  private fit(): void {
    const terminal = this.terminal;
    if (!terminal) return;
    const context = document.createElement('canvas').getContext('2d');
    if (!context) return;
    context.font = `${FONT_SIZE}px ${terminal.options.fontFamily}`;
    const cell = context.measureText('W').width;
    const cols = Math.max(20, Math.min(160, Math.floor((this.host.clientWidth - 24) / cell) - 2));
    if (cols !== terminal.cols) terminal.resize(cols, ROWS);
  }

  private forget(): void {
    this.waiting = [];
    this.waitingChars = 0;
  }

  clear(): void {
    this.forget();
    this.lastKind = '';
    this.atLineStart = true;
    this.terminal?.reset();
  }

  /** Appends text of one kind: action, observation, summary, carried, context, compact, end or start. */
  write(kind: string, text: string): void {
    if (!this.terminal) {
      this.waiting.push({ kind, text });
      this.waitingChars += text.length;
      while (this.waitingChars > MAX_WAITING && this.waiting.length > 1)
        this.waitingChars -= this.waiting.shift()?.text.length ?? 0;
      return;
    }
    const clean = sanitise(readable(text));
    const starts = kind !== this.lastKind;
    if (kind === 'context') {
      // The prompt marks say nothing a reader needs; the task is shown at the start.
      this.lastKind = kind;
      return;
    }
    this.lastKind = kind;
    const lineBreak = starts && !this.atLineStart ? '\r\n' : '';
    const lead = starts ? (LEADS[kind] ?? '') : '';
    this.terminal.write(`${RESET}${lineBreak}${lead}${SGR[kind] ?? ''}${clean}${RESET}`);
    if (clean || lead || lineBreak) this.atLineStart = clean.endsWith('\n');
  }
}

/** What a new piece of a kind begins with. */
const LEADS: Readonly<Record<string, string>> = {
  start: '\x1b[90mtask  ',
  action: '\x1b[1;34m$ ',
  summary: '\r\n\x1b[33msummary      ',
  carried: '\x1b[33mcarried over ',
  compact: '\x1b[90mcompaction   ',
  end: '\r\n',
};
