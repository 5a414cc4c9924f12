/** The example in the help of a command, pasted as it stands, gives what the help says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { labInProcess as lab } from './lab-in-process';

vi.setConfig({ testTimeout: 120_000 }); // the first example loads a command's modules, on a busy machine
const folder = mkdtempSync(join(tmpdir(), 'help-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads the example out of the text of the help, and does what a shell would do with it. */
async function paste(help: string, flags: string[] = []) {
  const [, call, printed] = /\nExample:\n([\s\S]*)\nprints.*:\n([\s\S]*)\n$/.exec(help) ?? [];
  if (call === undefined || printed === undefined) throw new Error(`no example in:\n${help}`);
  const text = /^ {2}echo '([^']*)'/.exec(call)![1]!;
  const file = / > (\S+)\n/.exec(call)?.[1];
  const words = /npm run --silent lab -- (.*)$/.exec(call)![1]!.split(' ');
  const at = join(folder, file ?? 'none');
  if (file) writeFileSync(at, text);
  const answer = await lab([...words.map((word) => (word === file ? at : word)), ...flags], text);
  return { answer, expected: `${printed.replace(/^ {2}/gm, '')}\n` };
}

/** `…` stands for anything within the line. */
const pattern = (text: string) => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')}$`);

const helpOf = async (command: string) => (await lab([command, '--help'])).stdout;

describe('the example of', () => {
  // The reference core: the help's numbers are exact in float32, and test/gpu compares the engines.
  test.each([
    ['advantages', ['--engine', 'cpu']],
    ['loss', ['--engine', 'cpu']],
    ['experiment', ['--out', join(folder, 'results')]],
    ['run', []],
    ['eval', []],
  ])('lab %s --help', async (command, flags) => {
    const { answer, expected } = await paste(await helpOf(command), flags);
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringMatching(pattern(expected)) });
  });
});

test.each(['advantages', 'loss'])('lab %s --help names every key of its line, and no other', async (command) => {
  const help = await helpOf(command);
  const { text } = /echo '(?<text>[^']*)'/.exec(help)!.groups!;
  const line = JSON.parse(text!) as Record<string, unknown> & { segments: object[] };
  const keys = [...Object.keys(line), ...Object.keys(line.segments[0]!).map((key) => `segments[].${key}`)];
  const section = help.slice(help.indexOf('One JSON object a line on'), help.indexOf('\nExample:'));
  expect([...section.matchAll(/^ {2}(\S+) /gm)].map(([, key]) => key).sort()).toEqual(keys.sort());
});
