/**
 * Dawn's Node binding polls for finished work with `setImmediate` in a tight loop, which keeps one core busy for as long
 * as anything is awaited (https://github.com/dawn-gpu/node-webgpu/issues/17). A software adapter needs that core: on two
 * cores matrix products ran at half speed. Between two polls the thread sleeps instead, longer the longer it has waited.
 * Remove when the binding waits without polling.
 */

/** Longest sleep between two polls, ms: bounds how late a result, or a terminal's answer, is noticed. */
const LONGEST_MS = 0.4;
/** Share of the time waited so far that a sleep may add. */
const SHARE = 0.1;
/** Below this a sleep costs more than it frees. */
const SHORTEST_MS = 0.03;

/** Makes Dawn's polling give way. Call before the first adapter is asked for; once per process. */
export function paceDawn(globals: Record<string, unknown>): void {
  const immediate = globalThis.setImmediate;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let since = 0;
  const paced = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    isNative(callback)
      ? immediate(() => {
          const sleepMs = Math.min(LONGEST_MS, SHARE * (performance.now() - since));
          if (sleepMs >= SHORTEST_MS) Atomics.wait(cell, 0, 0, sleepMs);
          callback(...args);
        })
      : immediate(callback, ...args);
  // Everything but Dawn, which looks the function up by name, keeps what it knows of it, `util.promisify.custom` included.
  globalThis.setImmediate = Object.defineProperties(
    paced,
    Object.getOwnPropertyDescriptors(immediate),
  ) as typeof immediate;
  const startsWaiting = (name: string, method: string) => {
    const prototype = (globals[name] as { prototype: Record<string, (...args: unknown[]) => unknown> }).prototype;
    const original = prototype[method]!;
    prototype[method] = function (this: unknown, ...args: unknown[]) {
      since = performance.now();
      return original.apply(this, args);
    };
  };
  startsWaiting('GPUBuffer', 'mapAsync');
  startsWaiting('GPUQueue', 'onSubmittedWorkDone');
}

/** Dawn's callback is compiled code; those of JavaScript libraries show their text. Bound functions are not Dawn's. */
function isNative(callback: (...args: unknown[]) => void): boolean {
  return callback.name === '' && /\{ \[native code\] \}$/.test(Function.prototype.toString.call(callback));
}
