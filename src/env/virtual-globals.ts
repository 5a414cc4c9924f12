/**
 * The shell's clock and dice. just-bash reads `Date` and `Math.random` from the global object and offers no setting, so
 * they are replaced while a command runs: the clock shows a fixed date that advances one second a command, the dice
 * (`$RANDOM`) are keyed by environment and command number.
 *
 * Commands run one after the other in a realm. In a worker nothing else is affected; in the in-process pool other code
 * that runs while a command awaits sees the virtual clock too, so that pool is for tests and small tools.
 */
import { RandomStream } from '../core/rng';

/** 2026-01-01T00:00:00Z, milliseconds. */
const EPOCH_MS = 1_767_225_600_000;

export interface VirtualTime {
  /** Unsigned 32-bit key of the dice. */
  readonly seed: number;
  readonly stream: number;
  /** Number of the command in its environment: seconds since the epoch of the virtual clock. */
  readonly command: number;
}

const RealDate = Date;
const realRandom = Math.random;
let queue: Promise<unknown> = Promise.resolve();
let nowMs = EPOCH_MS;
let dice = new RandomStream(0, 'shell', 0);

// One class and one function for all commands, so that inline caches in the shell stay valid.
class VirtualDate extends RealDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length === 0 ? [nowMs] : parts) as [number]));
  }
  static override now(): number {
    return nowMs;
  }
}
const virtualRandom = () => dice.uniform();

/** Runs `action` under the virtual clock and dice; calls queue up, so they never overlap in this realm. */
export function withVirtualGlobals<T>(time: VirtualTime, action: () => Promise<T>): Promise<T> {
  const run = async () => {
    nowMs = EPOCH_MS + time.command * 1000;
    dice = new RandomStream(time.seed, 'shell', (time.stream * 1009 + time.command) >>> 0);
    globalThis.Date = VirtualDate as DateConstructor;
    Math.random = virtualRandom;
    try {
      return await action();
    } finally {
      globalThis.Date = RealDate;
      Math.random = realRandom;
    }
  };
  const result = queue.then(run);
  queue = result.catch(() => {});
  return result;
}
