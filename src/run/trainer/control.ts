/** Pause, resume, single-step and stop, as the run sees them: gates it waits at. */

/** Thrown at a gate after `stop`; the run unwinds and keeps what is saved. */
export class Stopped extends Error {
  constructor() {
    super('stopped');
    this.name = 'Stopped';
  }
}

export type Mode = 'running' | 'paused' | 'stopped';

export class Control {
  private mode: Mode = 'running';
  private stepping = false;
  private wake: (() => void) | null = null;
  /** Everyone who waits while paused waits for this. */
  private pausing: Promise<void> | null = null;

  /** @param onChange told when the run really pauses at a gate, and when it goes on */
  constructor(private readonly onChange: (mode: Mode) => void = () => {}) {}

  pause(): void {
    if (this.mode === 'running') this.mode = 'paused';
  }
  resume(): void {
    this.stepping = false;
    this.go();
  }
  /** Goes on until the current phase ends, then pauses. */
  step(): void {
    this.stepping = true;
    this.go();
  }
  stop(): void {
    this.mode = 'stopped';
    this.release();
  }

  /** Waits here while paused; several may wait at once. @throws Stopped */
  readonly gate = async (): Promise<void> => {
    while (this.mode === 'paused') {
      this.pausing ??= this.wait();
      await this.pausing;
    }
    if (this.mode === 'stopped') throw new Stopped();
  };

  /** A phase ended: pauses here when single-stepping. @throws Stopped */
  async phaseEnd(): Promise<void> {
    if (this.stepping) {
      this.stepping = false;
      this.pause();
    }
    await this.gate();
  }

  private async wait(): Promise<void> {
    this.onChange('paused');
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    this.pausing = null;
    if (this.current() === 'running') this.onChange('running');
  }

  /** Read anew: another caller changes the mode while the gate waits. */
  private current(): Mode {
    return this.mode;
  }

  private go(): void {
    if (this.mode === 'stopped') return;
    this.mode = 'running';
    this.release();
  }
  private release(): void {
    const wake = this.wake;
    this.wake = null;
    wake?.();
  }
}
