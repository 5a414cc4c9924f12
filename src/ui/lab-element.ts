/**
 * Base of the page's elements: each draws itself for the first time in a task of its own. Left to Lit, a whole notebook
 * would be drawn in one long chain of microtasks, and the page would not answer until it ends.
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

export class LabElement extends LitElement {
  protected override async scheduleUpdate(): Promise<void> {
    if (!this.hasUpdated) await turn();
    await super.scheduleUpdate();
  }
}
