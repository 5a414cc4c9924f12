/** `lab run` as a user starts it: its own process, real terminal workers, files on disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import { initialParameters } from '../../src/model/initialise';
import { readModel, writeModel } from '../../src/run/session/model-file';
import { type Ended, labProgram, runLab, timeless } from './lab-support';

let lab: string;
const folder = mkdtempSync(join(tmpdir(), 'lab-run-'));
beforeAll(async () => {
  lab = await labProgram();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (words: readonly string[], stopAfter?: number, env?: NodeJS.ProcessEnv) =>
  runLab(lab, ['run', ...words], env, stopAfter);

// Without a measurement: what is compared here must not depend on which variants win on a busy machine.
const smoke = ['smoke', '--seed', '5', '--set', 'finalEvalEpisodes=8', '--set', 'kernels=default'];

describe('lab run', () => {
  let whole: Ended;
  test('prints one JSON object per iteration and a last one that says done', { timeout: 300_000 }, async () => {
    whole = await run([...smoke, '--out', join(folder, 'a'), '--result', join(folder, 'result.json')]);
    expect(whole.stderr).not.toMatch(/error:/);
    expect(whole.code).toBe(0);
    const iterations = whole.lines.slice(0, -1);
    expect(iterations.map((l) => l.iteration)).toEqual([0, 1]);
    const numbers = [
      'envTokens',
      'trainSuccess',
      'loss',
      'entropy',
      'kl',
      'clipFraction',
      'summaryTokens',
      'compactions',
    ];
    for (const line of iterations)
      for (const key of [...numbers, 'turns', 'evalComp', 'evalSingle']) expect(line[key], key).toBeTypeOf('number');
    const last = whole.lines[whole.lines.length - 1]!;
    expect(last).toMatchObject({ done: true, iterations: 2 });
    for (const key of ['evalComp', 'evalSingle', 'evalLong', 'envTokens', 'elapsedMs'])
      expect(last[key], key).toBeTypeOf('number');
    // Twice the window is evaluated at the end alone.
    expect(iterations.map((line) => 'evalLong' in line)).toEqual([false, true]);
    expect(iterations[1]).toMatchObject({ evalLong: last.evalLong, evalLongDetail: last.evalLongDetail });
    expect(last.adapter).toBeTypeOf('string');
    const result = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8'));
    expect(result).toMatchObject({ version: 1, seed: 5, preset: 'smoke', outcome: { status: 'finished' } });
    expect(result.iterations).toHaveLength(2);
    expect(result.iterations[0].evalLong).toBeUndefined();
    expect(result.iterations[1].evalLong).toMatchObject({ episodes: 8, success: last.evalLong });
    expect(result.outcome.evalLong).toEqual(result.iterations[1].evalLong);
  });

  test('the folder holds config, metrics, every trajectory and a checkpoint', () => {
    const read = (name: string) => readFileSync(join(folder, 'a', name), 'utf8');
    expect(JSON.parse(read('config.json'))).toMatchObject({ seed: 5, preset: 'smoke', status: 'finished' });
    expect(read('metrics.jsonl').trim().split('\n')).toHaveLength(2);
    const rollouts = read('trajectories.jsonl')
      .trim()
      .split('\n')
      .map((line) => parseRolloutLine(line));
    expect(rollouts).toHaveLength(16);
    expect(new Set(rollouts.map((r) => r.id)).size).toBe(16);
    expect(existsSync(join(folder, 'a', 'checkpoint.safetensors'))).toBe(true);
  });

  test('engine jax needs no graphics adapter, and starts from the same policy', { timeout: 300_000 }, async () => {
    const out = join(folder, 'jax');
    const none = { ...process.env, VK_DRIVER_FILES: join(folder, 'no-driver.json') };
    const ended = await run([...smoke, '--set', 'engine=jax', '--out', out], undefined, none);
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'))).toMatchObject({
      engine: 'jax',
      adapter: 'WebAssembly (jax-js)',
    });
    // The first rollouts are those of our kernels, unless a draw falls on a boundary of the distribution.
    const first = ({ lines }: Ended) => ({ envTokens: lines[0]!.envTokens, trainSuccess: lines[0]!.trainSuccess });
    expect(first(ended)).toEqual(first(whole));
    expect((await run(smoke, undefined, none)).stderr).toMatch(/engine=jax/);
  });

  test('another number of terminal workers gives byte-identical metrics', { timeout: 300_000 }, async () => {
    const other = await run([...smoke, '--set', 'terminalWorkers=3']);
    expect(timeless(other)).toEqual(timeless(whole));
  });

  test('an interrupted run resumes, and ends as if nothing had happened', { timeout: 300_000 }, async () => {
    const out = join(folder, 'b');
    const cut = await run([...smoke, '--out', out], 1);
    expect(cut.code).toBe(130);
    // Half a line, as a crash in mid-write leaves it.
    appendFileSync(join(out, 'metrics.jsonl'), '{"iteration":1,"envTok');
    const resumed = await run(['--resume', out]);
    expect(resumed.code).toBe(0);
    expect(timeless(resumed)).toEqual(timeless(whole).slice(1));
    const trajectories = (dir: string) => readFileSync(join(folder, dir, 'trajectories.jsonl'), 'utf8');
    expect(trajectories('b')).toBe(trajectories('a'));
    const again = await run(['--resume', out]);
    const last = ({ lines }: Ended) => ({ ...lines[lines.length - 1], elapsedMs: 0, deviceBytes: 0 });
    expect(again.lines).toHaveLength(1);
    expect(last(again)).toEqual(last(whole));
  });

  test('while one process writes a run, another does not resume it', {
    timeout: 300_000,
  }, async () => {
    const out = join(folder, 'busy');
    const first = run([...smoke, '--out', out]);
    await expect.poll(() => existsSync(join(out, 'running')), { timeout: 60_000 }).toBe(true);
    await expect.poll(() => existsSync(join(out, 'config.json')), { timeout: 60_000 }).toBe(true);
    const second = await run(['--resume', out]);
    expect([second.code, second.stderr]).toEqual([1, expect.stringMatching(/Another process is writing this run/)]);
    const ended = await first;
    expect(ended.code, ended.stderr).toBe(0);
    expect(timeless(ended)).toEqual(timeless(whole));
    expect(existsSync(join(out, 'running'))).toBe(false);
    // What a killed process left holds nobody up.
    writeFileSync(join(out, 'running'), JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }));
    expect((await run(['--resume', out])).code).toBe(0);
  });

  test('a run that its token budget ends has its evaluation, resumed too', { timeout: 300_000 }, async () => {
    const out = join(folder, 'budget');
    const ended = await run([...smoke, '--set', 'iterations=9', '--set', 'envTokenBudget=1', '--out', out]);
    expect(ended.code, ended.stderr).toBe(0);
    const [line, last] = ended.lines;
    expect(ended.lines).toHaveLength(2);
    expect(last).toMatchObject({ done: true, iterations: 1, evalCompDetail: { episodes: 8 } });
    for (const key of ['evalComp', 'evalSingle', 'evalLong']) expect(last![key], key).toBe(line![key]);
    const again = await run(['--resume', out]);
    expect(again.lines).toEqual([{ ...last, elapsedMs: expect.any(Number), deviceBytes: expect.any(Number) }]);
  });

  test.each([
    [['quick', '--set', 'windw=3'], 2, /Unknown configuration key "windw"/],
    [['nothing'], 2, /neither such a preset nor such a file/],
    [['quick', '--seed', '-1'], 2, /seed/],
    [['quick', '--set', 'window=100'], 1, /larger than the base policy was trained for/],
    [['--resume', '/nowhere'], 2, /no run to resume/],
  ])('%j is one clear error, and the only line on stderr: no device is opened', async (words, code, message) => {
    const ended = await run(words);
    expect([ended.code, ended.lines]).toEqual([code, []]);
    expect(ended.stderr).toMatch(/^error: [^\n]*\n$/);
    expect(ended.stderr).toMatch(message);
  });

  test('a run whose reader has gone stops', { timeout: 120_000 }, async () => {
    const long = ['smoke', '--set', 'iterations=1000', '--set', 'evalEvery=1000'];
    const child = spawn(process.execPath, [lab, 'run', ...long]);
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const [code] = await once(child, 'close');
    expect(code).toBe(130);
    expect(stderr).toContain('Nobody reads stdout any more');
    expect(stderr).toMatch(/stopped \d+\/1000/);
  });

  test('a folder that holds a run is not overwritten', async () => {
    const before = readFileSync(join(folder, 'a', 'config.json'), 'utf8');
    const ended = await run([...smoke, '--out', join(folder, 'a')]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/already holds a run/);
    expect(readFileSync(join(folder, 'a', 'config.json'), 'utf8')).toBe(before);
  });

  test('a damaged checkpoint is named and nothing is lost', async () => {
    const out = join(folder, 'b');
    const path = join(out, 'checkpoint.safetensors');
    const good = readFileSync(path);
    writeFileSync(path, good.subarray(0, 1000));
    const ended = await run(['--resume', out]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/error: .*safetensors/i);
    expect(readFileSync(join(out, 'metrics.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
  });
});

describe('lab eval', () => {
  const policy = () => join(folder, 'a', 'policy.safetensors');
  const evaluate = async (...words: string[]) => {
    const given = ['--seed', '5', '--episodes', '8', '--set', 'kernels=default', ...words];
    const ended = await runLab(lab, ['eval', 'smoke', '--policy', policy(), ...given]);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.lines).toHaveLength(1);
    return ended.lines[0]!;
  };
  let all: Record<string, unknown>;

  test('of a finished run gives the numbers of its own final evaluation', { timeout: 120_000 }, async () => {
    all = await evaluate();
    const metrics = readFileSync(join(folder, 'a', 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const final = JSON.parse(metrics.at(-1)!);
    for (const key of ['evalComp', 'evalSingle', 'evalLong']) expect(all[`${key}Detail`], key).toEqual(final[key]);
  });

  test('another writer changes what needs summaries and nothing else', { timeout: 120_000 }, async () => {
    const base = readModel(readFileSync('public/bases/chain-small.safetensors'), 'chain-small');
    const writer = join(folder, 'writer.safetensors');
    writeFileSync(writer, writeModel(base.shape, initialParameters(base.shape, 1, { copyInit: 1 }), {}));
    const swapped = await evaluate('--writer', writer);
    expect(swapped).toMatchObject({
      writer,
      evalSingleDetail: all.evalSingleDetail,
      evalLongDetail: all.evalLongDetail,
    });
    const comp = (line: typeof all) => line.evalCompDetail as { meanCompactions: number };
    expect(comp(all).meanCompactions).toBeGreaterThan(0);
    expect(comp(swapped)).not.toEqual(comp(all));
    // The policy as its own writer is no change.
    const own = await evaluate('--writer', policy(), '--modes', 'comp');
    expect(own.evalCompDetail).toEqual(all.evalCompDetail);
  });

  test('--modes evaluates only what it names', { timeout: 120_000 }, async () => {
    const { evalSingle, evalSingleDetail, ...rest } = await evaluate('--modes', 'single');
    expect([evalSingle, evalSingleDetail]).toEqual([all.evalSingle, all.evalSingleDetail]);
    expect(Object.keys(rest).filter((key) => key.startsWith('eval'))).toEqual([]);
  });
});
