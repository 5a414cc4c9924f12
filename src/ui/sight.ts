/** Whether an element is in the view or near it: what is far away loads nothing. */
import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** Before a cell is reached by scrolling, it should be there. */
const NEAR = '600px';

export class Sight implements ReactiveController {
  visible = false;
  private readonly observer: IntersectionObserver;

  /** @param onSight called whenever the element comes near the view */
  constructor(
    private readonly host: ReactiveControllerHost & Element,
    onSight: () => void,
  ) {
    this.observer = new IntersectionObserver(
      (entries) => {
        // A busy page gets several at once, oldest first: only the last says how it is now.
        this.visible = entries.at(-1)?.isIntersecting ?? false;
        if (this.visible) onSight();
      },
      { rootMargin: NEAR },
    );
    host.addController(this);
  }

  hostConnected(): void {
    this.observer.observe(this.host);
  }
  hostDisconnected(): void {
    this.observer.disconnect();
  }
}
