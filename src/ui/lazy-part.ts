/** A part of the page that is loaded when it is first needed, and may fail to: no network, or a newer version on the server. */
import { LabError } from '../core/errors';

const REASON_CHARS = 200;

/** Fires `change` whenever it begins to load, is loaded, or could not be. */
export class LazyPart<T> extends EventTarget {
  private result: Promise<T | null> | null = null;
  private state: 'idle' | 'loading' | 'loaded' | 'failed' = 'idle';
  /** How often loading failed. */
  failures = 0;
  /** Why it failed the last time. */
  reason = '';

  /** @param title the part in words, as the beginning of a sentence, e.g. "The charts" */
  constructor(
    readonly title: string,
    readonly load: () => Promise<T>,
  ) {
    super();
  }

  get loading(): boolean {
    return this.state === 'loading';
  }
  get loaded(): boolean {
    return this.state === 'loaded';
  }

  /** null when it could not be loaded, which `<lab-part-fault>` says; who draws anew does not load anew. */
  get(): Promise<T | null> {
    this.result ??= this.attempt();
    return this.result;
  }

  /** Loads again what could not be loaded. */
  retry(): Promise<T | null> {
    if (this.state === 'failed') this.result = null;
    return this.get();
  }

  /** For those who have another place to say it. @throws LabError page.part-missing */
  async need(): Promise<T> {
    const part = await this.retry();
    if (part !== null) return part;
    throw new LabError({
      code: 'page.part-missing',
      what: `${this.title} could not be loaded`,
      got: this.reason,
      fix: 'Check the connection and try again; if it stays so, reload the page.',
    });
  }

  private async attempt(): Promise<T | null> {
    this.enter('loading');
    try {
      const part = await this.load();
      this.enter('loaded');
      return part;
    } catch (thrown) {
      this.failures++;
      this.reason = (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, REASON_CHARS);
      this.enter('failed');
      return null;
    }
  }

  private enter(state: LazyPart<T>['state']): void {
    this.state = state;
    this.dispatchEvent(new Event('change'));
  }
}
