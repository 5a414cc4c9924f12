/**
 * The stopwatch of the shell's `time`. just-bash binds `performance.now` once, when it is loaded; so this module is
 * imported right before it and lends it a stopwatch that stands still. terminal.ts gives the real one back to everyone
 * else. Remove when just-bash offers a clock setting.
 */
Object.defineProperty(performance, 'now', { value: () => 0, configurable: true, writable: true });

/** Ends the loan; call once just-bash is loaded. */
export function returnPerformanceNow(): void {
  Reflect.deleteProperty(performance, 'now');
}
