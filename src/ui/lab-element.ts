/**
 * Base of the page's elements: each draws itself for the first time in a task of its own. Left to Lit, a whole notebook
 * would be drawn in one long chain of microtasks, and the page would not answer until it ends. An element that throws
 * while it draws says so to the elements around it, so that its cell can show the fault and the other cells live on.
 */
import { LitElement } from 'lit';

const waiting: (() => void)[] = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => {
  waiting.shift()?.();
  if (waiting.length > 0) channel.port2.postMessage(null);
};

/**
 * Resolves in a later task; those who wait go one at a time, in order. A message, not a timer: timers are slowed down to
 * 4 ms when nested, and to a second in a hidden tab.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) channel.port2.postMessage(null);
  });
}

/** An element could not draw itself. Whoever shows that in its place cancels the event; else it is thrown on. */
export class DrawFault extends Event {
  constructor(readonly thrown: unknown) {
    super('draw-fault', { bubbles: true, composed: true, cancelable: true });
  }
}

export class LabElement extends LitElement {
  protected override performUpdate(): void {
    try {
      super.performUpdate();
    } catch (thrown) {
      this.faulted(thrown);
    }
  }
  /** For what is drawn later than Lit draws. @throws what was thrown, when nobody around shows it */
  protected faulted(thrown: unknown): void {
    if (this.dispatchEvent(new DrawFault(thrown))) throw thrown;
  }
  protected override async scheduleUpdate(): Promise<void> {
    if (!this.hasUpdated) await turn();
    await super.scheduleUpdate();
  }
}
