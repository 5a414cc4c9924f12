/** Where the time of a run goes: device, terminals, our own code. */
import type { Timing } from '../../core/metrics/records';

/** What a run waits for. */
export type Awaited = 'gpu' | 'terminal' | 'pause';

/** Divides wall time by what is pending. Calls may overlap. */
export class TimeAccount {
  private readonly pending: Record<Awaited, number> = { gpu: 0, terminal: 0, pause: 0 };
  private sums = zero();
  private at: number;

  /** @param now milliseconds, monotonic */
  constructor(private readonly now: () => number) {
    this.at = now();
  }

  /** Counts a call as pending until what it returns has settled. */
  during<T>(what: Awaited, call: () => T): T {
    this.add(what, 1);
    const end = () => this.add(what, -1);
    try {
      const result = call();
      if (result instanceof Promise) result.then(end, end);
      else end();
      return result;
    } catch (thrown) {
      end();
      throw thrown;
    }
  }

  /** @returns the sums since the last call, and begins anew */
  take(): Timing {
    this.advance();
    const sums = this.sums;
    this.sums = zero();
    return sums;
  }

  private add(what: Awaited, calls: number): void {
    this.advance();
    this.pending[what] += calls;
  }

  private advance(): void {
    const { gpu, terminal, pause } = this.pending;
    const now = this.now();
    const passed = now - this.at;
    this.at = now;
    // A pause counts nowhere, unless a call that began before it still runs.
    if (pause > 0 && gpu === 0 && terminal === 0) return;
    this.sums.wallMs += passed;
    if (gpu > 0) this.sums.gpuMs += passed;
    if (terminal > 0) this.sums.terminalMs += passed;
    if (terminal > 0 && gpu === 0) this.sums.idleMs += passed;
    if (terminal === 0 && gpu === 0) this.sums.scriptMs += passed;
  }
}

function zero(): { -readonly [K in keyof Timing]: number } {
  return { wallMs: 0, gpuMs: 0, terminalMs: 0, idleMs: 0, scriptMs: 0 };
}

/** The same object; what its asynchronous methods take is counted. */
export function metered<T extends object>(target: T, account: TimeAccount, what: Awaited): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => account.during(what, () => value.apply(object, args) as unknown);
    },
  });
}
