/** For runs of which nothing is kept while they last. */
import type { Sink } from '../../core/protocol/protocol';

export class NullSink implements Sink {
  async saveHeader(): Promise<void> {}
  async saveIteration(): Promise<void> {}
  async saveStatus(): Promise<void> {}
  async loadRun(): Promise<null> {
    return null;
  }
}
