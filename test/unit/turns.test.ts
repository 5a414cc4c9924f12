import { expect, test } from 'vitest';
import { Turns } from '../../src/core/turns';

test('actions never overlap, keep their order, and survive one that fails', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const act = (name: string, ms: number, fails = false) =>
    turns.take(async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, ms));
      log.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  const all = await Promise.allSettled([act('a', 10), act('b', 5, true), act('c', 0)]);
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect(all.map((r) => (r.status === 'fulfilled' ? r.value : 'failed'))).toEqual(['a', 'failed', 'c']);
});
