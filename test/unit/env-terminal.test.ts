import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { decodeCommand, encode } from '../../src/core/tokenizer/tokenizer';
import { Terminal } from '../../src/env/terminal';

vi.setConfig({ testTimeout: 60_000 }); // seconds on an idle machine; other suites run beside this one

const open = (
  commands: string[] = ['cat', 'echo', 'mv', 'sed', 'sh'],
  files: Record<string, string> = { lamp: 'a b\n', leaf: 'c\n' },
) => Terminal.open({ files, commands, seed: 1, stream: 2, shell: 2 });

async function outputOf(...commands: string[]) {
  const terminal = await open();
  let result = await terminal.run(commands[0]!);
  for (const command of commands.slice(1)) result = await terminal.run(command);
  return result;
}

describe('a terminal shows', () => {
  test.each([
    ['cat lamp', 'a b\n', 0],
    ['cat none', 'cat: none: No such file or directory\n', 1],
    ['ls', 'bash: ls: command not found\n', 127],
    ['mv none x', "mv: cannot stat 'none': No such file or directory\n", 1],
    ['mv leaf', 'mv: missing destination file operand\n', 1],
    ['', '', 0],
    ['   ', '', 0],
    ['cat lamp | cat | cat', 'a b\n', 0],
    ['sed -i s/a/x/ lamp; cat lamp', 'x b\n', 0],
    ['cat "lamp', 'bash: line 1: unexpected EOF while looking for matching `"\'\n', 2],
    ['if', 'bash: syntax error: Parse error at 1:3: Expected THEN, got EOF\n', 2],
  ])('%j', async (command, output, exitCode) => {
    expect(await outputOf(command)).toEqual({ output, exitCode, exited: false });
  });

  test('stdout and stderr in the order they were written', async () => {
    const { output } = await outputOf('echo a; nope; echo b >&2; cat lamp; (none; echo c); echo d | none; echo e');
    const missing = (name: string) => `bash: ${name}: command not found\n`;
    expect(output).toBe(`a\n${missing('nope')}b\na b\n${missing('none')}c\n${missing('none')}e\n`);
  });

  test('files and the working directory from command to command, but no variables', async () => {
    expect((await outputOf('cd /tmp', 'echo hi > note', 'cat note')).output).toBe('hi\n');
    expect((await outputOf('x=5', 'echo "[$x]"')).output).toBe('[]\n');
  });
});

describe('exit', () => {
  test.each([
    'exit',
    'exit 3',
    'exit abc',
    'exit 2',
    'exit 126',
    'echo a; exit; echo b',
    'nope; exit 124',
    'eval exit',
    'if exit; then :; fi',
    'f() { exit; }; f',
  ])('%j asks the shell to exit', async (command) => {
    expect(await outputOf(command)).toMatchObject({ exited: true });
  });
  test.each([
    '(exit)',
    'exit | cat',
    'sh -c exit',
    '$(exit)',
    'echo exit',
    '"exit',
    'echo a; if',
    'break',
    'return 3',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: shell, not JavaScript
    'echo ${x?gone}',
    'echo $((1/0))',
  ])('%j does not', async (command) => {
    expect(await outputOf(command)).toMatchObject({ exited: false });
  });
  test('the output before it is kept', async () => {
    expect(await outputOf('echo a > out; cat out; exit')).toMatchObject({ output: 'a\n', exitCode: 0, exited: true });
  });
});

describe('hostile commands are harmless', () => {
  const big = 'x'.repeat(60_000);
  test.each<[string, string, string | undefined]>([
    ['endless loop', 'while true; do :; done', 'commands'],
    ['endless loop without commands', 'for ((;;)); do x=1; done', 'commands'],
    ['fork bomb', ':(){ :|:& };:', 'depth'],
    ['recursion', 'f() { f; }; f', 'depth'],
    ['doubling string', 'x=a; while true; do x=$x$x; done', 'memory'],
    ['brace bomb', 'echo {1..100000000}', 'memory'],
    ['output flood', 'f() { cat lamp lamp lamp lamp; }; x=$(cat big); while true; do echo $x$x$x$x; done', undefined],
    ['/dev/zero', 'cat /dev/zero', undefined],
    ['endless sed', "sed ':a;ba' lamp", undefined],
    ['sleep', 'sleep 100000', undefined],
    ['kill the shell', 'kill -9 $$; exec nothing', undefined],
    ['remove everything', 'rm -rf /; mv /work /gone; mv / x', undefined],
    ['huge pipeline', `cat lamp ${'| cat '.repeat(500)}`, undefined],
    ['huge pipeline of shells', `echo ${'| sh '.repeat(300)}`, undefined],
    ['deep nesting', `echo ${'$('.repeat(200)}echo${')'.repeat(200)}`, undefined],
    ['deep parentheses', `${'('.repeat(5000)}`, 'depth'],
    ['long line', `echo ${big}`, undefined],
    ['NUL and controls', 'echo \u0000\u0001\u001b[31m\u007f', undefined],
    ['unicode', 'echo "héllo 🌋 \u{10FFFF} \ud800"', undefined],
    ['heredoc without end', 'cat <<END\nabc', undefined],
    ['waiting for input', 'cat; read x; while read l; do echo $l; done', undefined],
    ['host files', 'cat /etc/passwd /proc/1/environ; . /etc/profile', undefined],
    ['arithmetic', 'echo $((2**63 / -1)) $((9999999999999999999 * 9)) $((1 << 999))', undefined],
    ['file system flood', 'while true; do cat big big big big >> big2; done', undefined],
  ])('%s', async (_, command, limit) => {
    const terminal = await open(['cat', 'echo', 'mv', 'sed', 'sh', 'rm', 'sleep'], { lamp: 'a\n', big });
    const startedAt = performance.now();
    const result = await terminal.run(command);
    // The slowest takes ~0.3 s on an idle machine; the bound only has to tell "ends" from "hangs" on a busy one.
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    if (limit) expect(result.limit).toBe(limit);
    expect(result.exited).toBe(false);
    expect(result.output.length).toBeLessThan(17_000);
    // The terminal still answers, and other terminals were not touched.
    expect((await terminal.run('echo alive')).output).toBe('alive\n');
    expect((await (await open()).run('cat lamp')).output).toBe('a b\n');
  });

  // Below the limit the shell itself answers; above it, its answer would depend on the engine's stack.
  test.each(['', 'a=', '[[ ', 'echo "it\'s"; ', 'echo $'])('%j and brackets: the limit is a count', async (before) => {
    const terminal = await open();
    const at = (n: number) => terminal.run(before + '('.repeat(n));
    expect((await at(200)).limit).toBeUndefined();
    for (const n of [201, 10_000])
      expect(await at(n)).toEqual({
        output: 'bash: maximum nesting depth exceeded (200 open brackets in a row)\n',
        exitCode: 126,
        exited: false,
        limit: 'depth',
      });
    const quoted = '('.repeat(10_000);
    expect((await terminal.run(`echo '${quoted}'`)).output).toBe(`${quoted}\n`);
  });

  test('limits are reached at the same place every time', async () => {
    const command = 'i=0; while true; do i=$((i+1)); echo $i > count; done';
    const counts = [];
    for (let n = 0; n < 2; n++) {
      const terminal = await open();
      expect((await terminal.run(command)).limit).toBeDefined();
      counts.push((await terminal.run('cat count')).output);
    }
    expect(counts[0]).toBe(counts[1]);
    expect(Number(counts[0])).toBeGreaterThan(100);
  });

  test('any ids a policy may sample run without an exception', async () => {
    const terminal = await open();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 12 }), async (ids) => {
        const result = await terminal.run(decodeCommand(ids));
        expect(typeof result.output).toBe('string');
        expect(encode(result.output)).toBeInstanceOf(Uint32Array);
      }),
      { numRuns: 400, seed: 5 },
    );
  });
});

describe('clock and dice', () => {
  test('are functions of the environment and the number of the command', async () => {
    const commands = ['echo $RANDOM $RANDOM $SECONDS', 'time cat lamp', 'eval "time cat lamp"; echo $RANDOM'];
    const play = async (stream: number) => {
      const terminal = await Terminal.open({
        files: { lamp: 'a\n' },
        commands: ['cat', 'echo', 'date'],
        seed: 1,
        stream,
        shell: 2,
      });
      const outputs = [];
      for (const command of commands) outputs.push((await terminal.run(command)).output);
      outputs.push((await terminal.run('date')).output);
      return outputs;
    };
    const [first, again, other] = [await play(0), await play(0), await play(1)];
    expect(again).toEqual(first);
    expect(other[0]).not.toBe(first[0]);
    expect(first[3]).toBe('Thu Jan  1 00:00:04 UTC 2026\n');
  });

  test('the real ones are back afterwards', async () => {
    const [before, realDate] = [Date.now(), Date];
    await outputOf('echo $RANDOM');
    expect(Date.now()).toBeGreaterThanOrEqual(before);
    expect(Date).toBe(realDate);
    expect(Math.random()).not.toBe(Math.random());
  });

  test('commands in flight at once do not mix them up', async () => {
    const run = (n: number) =>
      Terminal.open({ files: {}, commands: ['echo'], seed: n, stream: 0, shell: 2 }).then((t) => t.run('echo $RANDOM'));
    const together = await Promise.all([1, 2, 3].map(run));
    const apart = [await run(1), await run(2), await run(3)];
    expect(together).toEqual(apart);
  });
});
