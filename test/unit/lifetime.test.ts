import { expect, test } from 'vitest';
import { Lifetime } from '../../src/core/lifetime';

test('a call has its own outcome while the thing lives', async () => {
  const life = new Lifetime();
  await expect(life.guard(Promise.resolve(3))).resolves.toBe(3);
  await expect(life.guard(Promise.reject(new Error('own')))).rejects.toThrow('own');
});

test('the end rejects what is pending and what comes later; the first reason counts', async () => {
  const life = new Lifetime();
  const pending = life.guard(new Promise(() => {}));
  life.end(new Error('first'));
  life.end(new Error('second'));
  await expect(pending).rejects.toThrow('first');
  await expect(life.guard(Promise.resolve(1))).rejects.toThrow('first');
});

test('a settled call leaves nothing behind', async () => {
  const life = new Lifetime();
  for (let i = 0; i < 100; i++) await life.guard(Promise.resolve(i));
  await life.guard(Promise.reject(new Error('x'))).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect((life as unknown as { pending: Set<unknown> }).pending.size).toBe(0);
});
