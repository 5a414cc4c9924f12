/**
 * Plays watch events at a speed a person can follow. Training is far faster than reading, so whole episodes are skipped,
 * never parts of one: while an episode plays, only the newest later one is kept. Pure: time is passed in.
 */
import type { WatchEvent } from '../../core/protocol/protocol';
import { decode } from '../../core/tokenizer/tokenizer';
import { applyEvent, splitResume, type WatchState } from './watch-model';

/** Tokens a second of the offered speeds; `Infinity` shows every event as it arrives. */
export const SPEEDS = { slow: 10, normal: 30, fast: 120, live: Number.POSITIVE_INFINITY } as const;
export type Speed = keyof typeof SPEEDS;

/** How long a finished episode and a fold stay on screen, ms. */
const HOLD_END_MS = 1800;
const HOLD_FOLD_MS = 1100;
/** Most events kept of an episode that is not on screen yet; a hostile or broken stream cannot grow without bound. */
const MAX_QUEUED = 20_000;

export interface PlayerOutput {
  readonly state: WatchState;
  /** Text to append to the terminal since the last call; `reset` clears it first. */
  readonly writes: readonly { readonly kind: string; readonly text: string }[];
  readonly reset: boolean;
}

export class WatchPlayer {
  speed: Speed = 'normal';
  #state: WatchState;
  #queue: WatchEvent[] = [];
  #next: WatchEvent[] | null = null;
  #holdMs = 0;
  #credit = 0;

  constructor(initial: WatchState) {
    this.#state = initial;
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Whether `advance` has anything to do. */
  get busy(): boolean {
    return this.#queue.length > 0 || this.#next !== null || this.#holdMs > 0;
  }

  /** Takes events as the trainer sends them. */
  push(events: readonly WatchEvent[]): void {
    for (const event of events) {
      const playing = this.#queue.length > 0 || (this.#state.rollout !== null && this.#state.end === null);
      if (event.type === 'start' && (playing || this.#next)) this.#next = [event];
      else if (this.#next) this.#next.push(event);
      else this.#queue.push(event);
    }
    if (this.#queue.length > MAX_QUEUED) this.#queue.length = 0;
    if (this.#next && this.#next.length > MAX_QUEUED) this.#next = null;
  }

  /** Empties the player, for another run. */
  clear(initial: WatchState): PlayerOutput {
    this.#state = initial;
    this.#queue = [];
    this.#next = null;
    this.#holdMs = 0;
    this.#credit = 0;
    return { state: initial, writes: [], reset: true };
  }

  /** Plays what `elapsedMs` allows. With reduced motion nothing is held back and nothing folds slowly. */
  advance(elapsedMs: number, reducedMotion = false): PlayerOutput {
    const writes: { kind: string; text: string }[] = [];
    let reset = false;
    const instant = reducedMotion || this.speed === 'live';
    this.#holdMs = instant ? 0 : Math.max(0, this.#holdMs - elapsedMs);
    if (this.#holdMs > 0) return { state: this.#state, writes, reset };
    if (this.#state.folding) this.#state = { ...this.#state, folding: null };
    const rate = SPEEDS[this.speed];
    this.#credit = instant ? Number.POSITIVE_INFINITY : Math.min(this.#credit + (elapsedMs / 1000) * rate, rate);

    for (;;) {
      if (this.#queue.length === 0) {
        if (!this.#next) break;
        // The episode on screen is over (or its stream broke off): go on with the newest.
        this.#queue = this.#next;
        this.#next = null;
      }
      const event = this.#queue[0] as WatchEvent;
      const cost = event.type === 'tokens' && event.kind !== 'context' ? Math.max(1, event.ids.length) : 0;
      if (this.#credit < Math.min(1, cost)) break;
      if (cost > 1 && this.#credit < cost) {
        const [head, tail] = splitTokens(event as TokensEvent, Math.floor(this.#credit));
        this.#queue[0] = tail;
        this.#play(head, writes);
        this.#credit -= head.ids.length;
        break;
      }
      this.#queue.shift();
      this.#credit -= cost;
      if (event.type === 'start') {
        reset = true;
        writes.length = 0;
      }
      this.#play(event, writes);
      if (!instant && (event.type === 'compact' || event.type === 'end')) {
        this.#holdMs = event.type === 'compact' ? HOLD_FOLD_MS : HOLD_END_MS;
        this.#credit = 0;
        break;
      }
      if (instant && this.#state.folding) this.#state = { ...this.#state, folding: null };
    }
    if (!Number.isFinite(this.#credit)) this.#credit = 0;
    return { state: this.#state, writes, reset };
  }

  #play(event: WatchEvent, writes: { kind: string; text: string }[]): void {
    const before = this.#state;
    this.#state = applyEvent(before, event);
    if (event.type === 'tokens') {
      for (const piece of splitResume(before, event)) writes.push({ kind: piece.kind, text: piece.text });
    } else {
      const entry = this.#state.transcript.at(-1);
      if (entry) writes.push({ kind: entry.kind, text: entry.text });
    }
  }
}

type TokensEvent = Extract<WatchEvent, { type: 'tokens' }>;

/** Splits a token event after `n` tokens. */
export function splitTokens(event: TokensEvent, n: number): [TokensEvent, TokensEvent] {
  const head = decode(event.ids.slice(0, n));
  // A split inside a character of several bytes has no text of its own: it comes with the rest.
  const text = event.text.startsWith(head) ? head : '';
  return [
    { ...event, ids: event.ids.slice(0, n), text },
    { ...event, ids: event.ids.slice(n), text: event.text.slice(text.length) },
  ];
}
