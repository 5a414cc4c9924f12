/** Lets asynchronous actions take turns: each begins when the one before it has ended, well or badly. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** @returns what the action returns, once its turn has come */
  take<T>(action: () => Promise<T>): Promise<T> {
    const result = this.last.then(action);
    this.last = result.catch(() => {});
    return result;
  }
}
