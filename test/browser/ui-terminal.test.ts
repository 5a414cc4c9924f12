import { afterEach, expect, test } from 'vitest';
import '../../src/ui/watch/lab-terminal';
import type { LabTerminal } from '../../src/ui/watch/lab-terminal';
import { find, findAll, until } from './ui/mount';

afterEach(() => {
  document.body.replaceChildren();
});

/** A terminal far below the view; `IntersectionObserver` has had its say when this resolves. */
async function below(): Promise<LabTerminal> {
  const space = document.createElement('div');
  space.style.height = '4000px';
  const terminal = document.createElement('lab-terminal') as LabTerminal;
  document.body.append(space, terminal);
  scrollTo(0, 0);
  await until(() => find('.host'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  return terminal;
}

const text = () => findAll('.xterm-rows').map((rows) => rows.textContent ?? '');

test('a terminal opens when it comes near the view and shows what was written until then', async () => {
  const terminal = await below();
  terminal.write('action', 'cat lamp\n');
  expect(find('.xterm')).toBe(undefined);
  terminal.scrollIntoView();
  await until(() => text().some((rows) => rows.includes('$ cat lamp')));
});

test('of a long stretch out of view the newest part is kept', async () => {
  const terminal = await below();
  for (let i = 0; i < 30_000; i++) terminal.write('observation', `line ${i}\n`);
  const { waiting } = terminal as unknown as { waiting: { text: string }[] };
  expect(waiting.reduce((n, piece) => n + piece.text.length, 0)).toBeLessThan(70_000);
  terminal.scrollIntoView();
  await until(() => text().some((rows) => rows.includes('line 29999')));
});

test('a terminal that is moved in the page opens again', async () => {
  const terminal = await below();
  terminal.scrollIntoView();
  await until(() => find('.xterm'));
  terminal.remove();
  document.body.append(terminal);
  terminal.scrollIntoView();
  await until(() => find('.xterm'));
  terminal.write('action', 'pwd');
  await until(() => text().some((rows) => rows.includes('$ pwd')));
  expect(findAll('.xterm')).toHaveLength(1);
});
