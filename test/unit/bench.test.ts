import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { integerOption, integersOption, nameOption, namesOption } from '../../src/bench/arguments';
import { tableText } from '../../src/bench/table';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bench = (...words: string[]) =>
  spawnSync(process.execPath, ['.ci/launch.mjs', 'bench', ...words], { cwd: root, encoding: 'utf8' });

describe('flags', () => {
  const run = (options: Record<string, string>) => ({ options });
  test('are lists of names and numbers', () => {
    expect(namesOption(run({ model: 'b,a' }), 'model', ['a', 'b', 'c'])).toEqual(['b', 'a']);
    expect(namesOption(run({}), 'model', ['a', 'b'])).toEqual(['a', 'b']);
    expect(nameOption(run({ model: 'b' }), 'model', 'a', ['a', 'b'])).toBe('b');
    expect(nameOption(run({}), 'model', 'a', ['a', 'b'])).toBe('a');
    expect(integersOption(run({ n: '1,64' }), 'n', [2], [1, 64])).toEqual([1, 64]);
    expect(integerOption(run({}), 'n', 5, [1, 9])).toBe(5);
  });
  test.each(['d', '', 'a,', 'toString'])('model "%s" is refused', (text) => {
    expect(() => namesOption(run({ model: text }), 'model', ['a'])).toThrow(
      expect.objectContaining({ code: 'usage.bench' }),
    );
  });
  test.each(['d', '', 'a,b', 'toString'])('of one name, "%s" is refused', (text) => {
    expect(() => nameOption(run({ model: text }), 'model', 'a', ['a', 'b'])).toThrow(
      expect.objectContaining({ code: 'usage.bench' }),
    );
  });
  test.each(['0', '10', '1.5', '-1', '', '1,2'])('number "%s" is refused', (text) => {
    expect(() => integerOption(run({ n: text }), 'n', 5, [1, 9])).toThrow(
      expect.objectContaining({ code: 'usage.bench' }),
    );
  });
});

test('a table has a heading, and columns as wide as their widest cell', () => {
  expect(
    tableText([
      ['name', 'rate'],
      ['a', 12345],
      ['longer', 0.01234],
    ]),
  ).toBe('name    rate\n──────  ──────\na       12,300\nlonger  0.0123');
});

describe('the process', () => {
  test('terminals --json: one JSON object with its provenance, nothing else on stdout', () => {
    const { stdout, status } = bench('terminals', '--json', '--environments', '4', '--rounds', '2');
    expect(status).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({
      bench: 'terminals',
      environments: 4,
      provenance: {
        command: 'bench terminals --json --environments 4 --rounds 2',
        node: process.version,
        adapter: null,
      },
    });
    expect(result.results.map((r: { workers: number }) => r.workers)).toEqual([1, 2]);
    for (const { commandsPerSecond } of result.results) {
      expect(commandsPerSecond.samples).toBe(2);
      expect(commandsPerSecond.min).toBeGreaterThan(0);
    }
  }, 120_000);

  test.each([
    [['nothing'], /^error: Unknown benchmark: expected .*peers/],
    [['terminals', '--model', 'x'], /^error: Bad arguments for terminals/],
    [['terminals', '--rounds', 'x'], /^error: Bad value for --rounds/],
  ])(
    '%j: exit code 2, one line that says what is wrong',
    (words, message) => {
      const { stdout, stderr, status } = bench(...words);
      expect(status).toBe(2);
      expect(stdout).toBe('');
      expect(stderr.trimEnd().split('\n').at(-1)).toMatch(message);
    },
    60_000,
  );
});
