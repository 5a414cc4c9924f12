/** The terminal against recorded bash and GNU tools; the list of where they differ must stay exact. */
import { expect, it } from 'vitest';
import { Terminal } from '../../src/env/terminal';
import differs from '../fixtures/shell/differs.json';
import files from '../fixtures/shell/files.json';
import recorded from '../fixtures/shell/recorded.json';

const tools =
  'ls cat head tail grep find wc sort uniq cut tr sed awk mkdir mv cp rm echo printf sh bash diff true false';

it('prints the bytes that bash prints, but for the listed commands', async () => {
  const other: string[] = [];
  for (const { command, output } of recorded) {
    const terminal = await Terminal.open({ files, commands: tools.split(' '), seed: 1, stream: 0 });
    if ((await terminal.run(command)).output !== output) other.push(command);
  }
  expect(other).toEqual(differs);
});
