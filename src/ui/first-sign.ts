/** When a page may load what it does not need to be read: at a visitor's first sign, or after it has been quiet for a while. */

const SIGNS = ['pointermove', 'pointerdown', 'click', 'keydown', 'wheel', 'scroll', 'touchstart'] as const;

/**
 * Calls back once. @param quietMs for a page that is only looked at
 * @returns a function that calls it off
 */
export function onFirstSign(callback: () => void, quietMs: number): () => void {
  const over = new AbortController();
  const sign = () => {
    clearTimeout(timer);
    over.abort();
    callback();
  };
  const timer = setTimeout(sign, quietMs);
  for (const type of SIGNS) addEventListener(type, sign, { capture: true, passive: true, signal: over.signal });
  return () => {
    clearTimeout(timer);
    over.abort();
  };
}
