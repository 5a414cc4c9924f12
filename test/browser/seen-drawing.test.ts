/** When a chart is drawn: what a busy page says late counts as it is at the end. */
import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { afterEach, expect, test, vi } from 'vitest';
import { SeenDrawing } from '../../src/ui/charts/seen-drawing';

afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

/** A host that is no component: all that a controller needs of one. */
function hostOf(element: HTMLElement): ReactiveControllerHost & Element {
  const host: ReactiveControllerHost = {
    addController: (_controller: ReactiveController) => {},
    removeController: () => {},
    requestUpdate: () => {},
    updateComplete: Promise.resolve(true),
  };
  return Object.assign(element, host);
}

test.each([
  [[false, true], 1],
  [[true, false], 0],
])('of several reports on sight, %j, the last counts', async (reports, drawings) => {
  let tell: (entries: { isIntersecting: boolean }[]) => void = () => {};
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(told: typeof tell) {
        tell = told;
      }
      observe() {}
      disconnect() {}
    },
  );
  const element = document.createElement('div');
  element.style.width = '300px';
  element.textContent = 'drawing';
  document.body.append(element);
  let drawn = 0;
  const seen = new SeenDrawing(hostOf(element), () => {
    drawn++;
  });
  seen.hostConnected();
  seen.watch(element);
  await expect.poll(() => seen.width).toBe(300);
  tell(reports.map((isIntersecting) => ({ isIntersecting })));
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  expect(drawn).toBe(drawings);
});
