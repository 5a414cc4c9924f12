/** The terminal against recorded bash and GNU tools; the list of where they differ must stay exact. */
import { describe, expect, it } from 'vitest';
import { createTerminalPool } from '../../src/env/pool';
import { rememberingPool } from '../../src/env/remembering-pool';
import { shellPool } from '../../src/env/shell-pool';
import type { TaskInstance } from '../../src/env/task';
import { Terminal } from '../../src/env/terminal';
import differs from '../fixtures/shell/differs.json';
import files from '../fixtures/shell/files.json';
import recorded from '../fixtures/shell/recorded.json';

const tools =
  'ls cat head tail grep find wc sort uniq cut tr sed awk mkdir mv cp rm echo printf sh bash diff true false';
const open = (shell: 1 | 2) => Terminal.open({ files, commands: tools.split(' '), seed: 1, stream: 0, shell });

it('prints the bytes of bash and exits as it does, but for the listed commands', async () => {
  const other: string[] = [];
  for (const { command, output, exitCode } of recorded) {
    const ours = await (await open(2)).run(command);
    if (ours.output !== output || ours.exitCode !== exitCode) other.push(command);
  }
  expect(other).toEqual(differs);
  expect(recorded.length).toBeGreaterThanOrEqual(300);
});

describe('version 1, of earlier runs', () => {
  const error = 'cat: nope: No such file or directory';
  it.each([
    ['cat nope | wc -c', '37\n'],
    ['x=$(cat nope); echo "[$x]"', `[${error}]\n`],
    ['echo hi >&2 | wc -c', '3\n'],
    ['for f in nope a.txt; do cat $f; done | wc -l', '4\n'],
    ['{ cat nope; } 2>err.txt; cat err.txt', `${error}\n`],
    ['cat a.txt nope', `a,1\nb,2\nca,31\n${error}\n`],
  ])('keeps what it answered to %s', async (command, output) => {
    expect((await (await open(1)).run(command)).output).toBe(output);
  });

  it('has no command that shows what is held', async () => {
    expect((await (await open(1)).run('.show-held 0')).exitCode).toBe(127);
  });

  it('shares no answers with version 2', async () => {
    const task: TaskInstance = {
      family: 'find',
      split: 'train',
      index: 0,
      seed: 1,
      instruction: '',
      files: {},
      commands: ['cat', 'wc'],
      minTurns: 1,
      difficulty: 1,
      data: {},
    };
    const pool = rememberingPool(createTerminalPool({ workers: 0 }));
    const answers = [];
    for (const shell of [1, 2, 1] as const) {
      const versioned = shellPool(pool, shell);
      await versioned.open([{ env: 0, task }]);
      answers.push((await versioned.run([{ env: 0, command: 'cat nope | wc -c' }]))[0]!.output);
    }
    expect(answers).toEqual(['37\n', `${error}\n0\n`, '37\n']);
    await pool.close();
  });
});

describe('what a command holds back', () => {
  it('is shown when the shell exits before, and not again', async () => {
    const terminal = await open(2);
    const first = await terminal.run('set -e; x=$(cat nope); echo never');
    expect(first.output).toBe('cat: nope: No such file or directory\n');
    expect((await terminal.run('echo next')).output).toBe('next\n');
  });
});
