/** The clock of a pair: position in frames, playing or not. Knows nothing of the screen but the animation frame. */

/** Longest tick, ms: after a pause in a hidden tab the episode goes on, it does not jump. */
const MAX_TICK_MS = 120;

export class Playback extends EventTarget {
  /** Frames complete on both sides, and how far the next one has come. */
  at = 0;
  portion = 0;
  playing = false;
  #frame = 0;
  #last = 0;

  /** @param stepMs how long step `at` takes */
  constructor(
    readonly steps: number,
    readonly stepMs: (at: number) => number,
  ) {
    super();
  }

  get ended(): boolean {
    return this.at >= this.steps;
  }

  play(): void {
    if (this.playing) return;
    if (this.ended) this.#move(0);
    this.playing = true;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(this.#tick);
    this.#changed();
  }

  pause(): void {
    cancelAnimationFrame(this.#frame);
    this.playing = false;
    this.#changed();
  }

  /** Stops and completes the frame in hand. */
  step(): void {
    this.pause();
    if (!this.ended) this.#move(this.at + 1);
  }

  replay(): void {
    this.pause();
    this.#move(0);
    this.play();
  }

  readonly #tick = (now: number): void => {
    let left = Math.min(MAX_TICK_MS, Math.max(0, now - this.#last));
    this.#last = now;
    while (left > 0 && !this.ended) {
      const length = Math.max(1, this.stepMs(this.at));
      const rest = (1 - this.portion) * length;
      if (left < rest) {
        this.portion += left / length;
        break;
      }
      left -= rest;
      this.at++;
      this.portion = 0;
    }
    if (this.ended) this.playing = false;
    else this.#frame = requestAnimationFrame(this.#tick);
    this.#changed();
  };

  #move(at: number): void {
    this.at = at;
    this.portion = 0;
    this.#changed();
  }
  #changed(): void {
    this.dispatchEvent(new Event('change'));
  }
}
