import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../src/headless/arguments';
import type { Command, CommandIo } from '../../src/headless/command';
import { runLab } from '../../src/headless/lab';

const root = fileURLToPath(new URL('../..', import.meta.url));

function fakeIo(): CommandIo & { stdout: string; stderr: string } {
  return {
    stdout: '',
    stderr: '',
    signal: new AbortController().signal,
    out(text) {
      this.stdout += text;
    },
    err(text) {
      this.stderr += text;
    },
    async *lines() {},
  };
}

const sample: Command = {
  name: 'sample',
  summary: 'does nothing',
  usage: 'sample <file> [--seed N]',
  positionals: 1,
  options: {
    seed: { type: 'string', help: 'seed' },
    set: { type: 'string', multiple: true, help: 'key=value' },
    dry: { type: 'boolean', help: 'dry' },
  },
  async run() {},
};

describe('arguments', () => {
  test('are read by name, number and kind', () => {
    const args = parseCommand(sample, ['f.json', '--seed', '7', '--set', 'a=1', '--set=b=2', '--dry'], fakeIo());
    expect(args.positionals).toEqual(['f.json']);
    expect(args.integer('seed', 0)).toBe(7);
    expect(args.texts('set')).toEqual(['a=1', 'b=2']);
    expect(args.flag('dry')).toBe(true);
    expect(parseCommand(sample, [], fakeIo()).integer('seed', 3)).toBe(3);
  });

  test.each([
    [['--sed', '1'], 'usage.unknown-flag', /got --sed\. Did you mean "--seed"/],
    [['--toString'], 'usage.unknown-flag', /got --toString/],
    [['--seed'], 'usage.bad-flag', /seed/],
    [['--dry=yes'], 'usage.bad-flag', /dry/],
    [['a', 'b'], 'usage.extra-argument', /got "b"/],
  ])('%j is refused as %s', (words, code, message) => {
    expect(() => parseCommand(sample, words, fakeIo())).toThrow(expect.objectContaining({ code }));
    expect(() => parseCommand(sample, words, fakeIo())).toThrow(message);
  });

  test.each(['1.5', '', 'NaN', '0x10', '4294967296', '1e3'])('"%s" is no seed', (text) => {
    expect(() => parseCommand(sample, [`--seed=${text}`], fakeIo()).integer('seed', 0)).toThrow(/whole number/);
  });

  test('typed arrays are printed as arrays', () => {
    const io = fakeIo();
    parseCommand(sample, [], io).print({ ids: new Uint32Array([1, 2]) });
    expect(io.stdout).toBe('{"ids":[1,2]}\n');
  });
});

describe('runLab', () => {
  test.each([
    [[], /^error: No command given/],
    [['devise'], /^error: Unknown command: expected .*device.* got devise\. Did you mean "lab device"\?/],
    [['--seed', '1'], /^error: A flag stands where a command is wanted/],
    [['device', '--foo'], /^error: Unknown flag at lab device: .* got --foo/],
  ])('%j: one line on stderr, nothing on stdout, exit code 2', async (words, message) => {
    const io = fakeIo();
    expect(await runLab(words, io)).toBe(2);
    expect(io.stderr).toMatch(message);
    expect(io.stderr.trimEnd()).not.toContain('\n');
    expect(io.stdout).toBe('');
  });

  test('every command file exports a command of its own name, and help shows it', async () => {
    const io = fakeIo();
    expect(await runLab(['--help'], io)).toBe(0);
    expect(io.stdout).toContain('  device ');
    const one = fakeIo();
    expect(await runLab(['device', '--help'], one)).toBe(0);
    expect(one.stdout).toContain('Usage: lab device');
  });
});

describe('the process', () => {
  const launch = ['.ci/launch.mjs', 'lab'];

  test('device: stdout is one JSON line, whatever has to be built first', () => {
    const { stdout, status } = spawnSync(process.execPath, [...launch, 'device'], { cwd: root, encoding: 'utf8' });
    expect(status).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({ vendor: expect.any(String), description: expect.any(String) });
  }, 60_000);

  test('without an adapter: one error that says what to do, exit code 1', () => {
    const env = { ...process.env, VK_DRIVER_FILES: '/nowhere.json' };
    const result = spawnSync(process.execPath, [...launch, 'device'], { cwd: root, encoding: 'utf8', env });
    expect(result.status).toBe(1);
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(/^error: .*no graphics adapter.*Vulkan/m);
  }, 60_000);

  test('a reader that closes stdout early does not make it fail', async () => {
    const child = spawn(process.execPath, [...launch, '--help'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdout.destroy();
    const [code] = await once(child, 'close');
    expect(stderr).not.toMatch(/EPIPE|error:/);
    expect(code).toBe(0);
  }, 60_000);
});
