/** When a chart is drawn: while it is in sight or nearly so, and again when its width changes. */
import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { cancelDraw, draw } from './frame-queue';

/** How far from the sight a chart is drawn already. */
const MARGIN = '200px';

export class SeenDrawing implements ReactiveController {
  /** Of the watched element, px; 0 before it is laid out. */
  width = 0;
  private visible = false;
  private readonly resize = new ResizeObserver((entries) => {
    const width = Math.floor(entries.at(-1)?.contentRect.width ?? 0);
    if (width === this.width || width === 0) return;
    this.width = width;
    this.request();
  });
  private readonly sight = new IntersectionObserver(
    (entries) => {
      // A busy page gets several at once, oldest first: only the last says how it is now.
      this.visible = entries.at(-1)?.isIntersecting ?? false;
      if (this.visible) this.request();
    },
    { rootMargin: MARGIN },
  );

  /** @param work draws; called in a frame of its own, only while the host is in sight and laid out */
  constructor(
    private readonly host: ReactiveControllerHost & Element,
    private readonly work: () => void,
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    this.sight.observe(this.host);
  }
  hostDisconnected(): void {
    this.resize.disconnect();
    this.sight.disconnect();
    cancelDraw(this.host);
  }

  /** Redraws whenever the width of `drawing` changes. */
  watch(drawing: Element): void {
    this.resize.observe(drawing);
  }
  request(): void {
    if (this.visible && this.width > 0) draw(this.host, this.work);
  }
}
