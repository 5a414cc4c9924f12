/**
 * Drawing work, a little in each frame: the page stays responsive however many charts want to be drawn at once. A later
 * request with the same key replaces the earlier one.
 */
const FRAME_BUDGET_MS = 8;
const pending = new Map<object, () => void>();
let scheduled = false;

function run(): void {
  scheduled = false;
  const began = performance.now();
  for (const [key, work] of pending) {
    pending.delete(key);
    work();
    if (performance.now() - began > FRAME_BUDGET_MS) break;
  }
  if (pending.size > 0) schedule();
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(run);
}

/** Queues `work` for one of the next frames. */
export function draw(key: object, work: () => void): void {
  pending.set(key, work);
  schedule();
}

/** Forgets queued work. */
export function cancelDraw(key: object): void {
  pending.delete(key);
}
