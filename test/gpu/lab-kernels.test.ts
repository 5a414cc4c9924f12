/** Kernel choices of `lab`: measured once and kept, stored with every run, and what a resumed run goes on with. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KernelPlan, KernelReport } from '../../src/core/kernels';
import { labProgram, runLab, timeless } from './lab-support';

let lab: string;
const folder = mkdtempSync(join(tmpdir(), 'lab-kernels-'));
const cacheFile = join(folder, 'compaction-lab', 'autotune.json');
beforeAll(async () => {
  lab = await labProgram();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (words: readonly string[], stopAfter?: number) =>
  runLab(lab, words, { ...process.env, XDG_CACHE_HOME: folder }, stopAfter);

const headerOf = (out: string) => JSON.parse(readFileSync(join(folder, out, 'config.json'), 'utf8'));
const smoke = ['run', 'smoke', '--seed', '5', '--set', 'finalEvalEpisodes=8'];
/** Not what any adapter is given without a measurement, and micro-batches small enough to cut a batch. */
const unusual = { choices: { matmul: 'tiled', attention: 'lane', decode: 'layered' }, microBatchTokens: 64 };

describe('kernels of a run', () => {
  test('are measured once, kept, stored with the run and its result', { timeout: 300_000 }, async () => {
    const result = join(folder, 'result.json');
    const first = await run([...smoke, '--out', join(folder, 'first'), '--result', result]);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stderr).toMatch(/measuring kernel variants.*decode/);
    const { kernels } = headerOf('first') as { kernels: KernelPlan };
    expect(Object.keys(kernels.choices)).toContain('decode');
    expect(JSON.parse(readFileSync(result, 'utf8')).kernels).toEqual(kernels);
    expect(first.lines.at(-1)!.kernels).toEqual(kernels);

    const second = await run([...smoke, '--out', join(folder, 'second')]);
    expect(second.stderr).not.toMatch(/measuring/);
    expect(headerOf('second').kernels).toEqual(kernels);
    expect(timeless(second)).toEqual(timeless(first));

    const device = await run(['device']);
    const [kept] = device.lines[0]!.kernels as KernelReport[];
    expect(kept!.plan.choices).toEqual(kernels.choices);
    expect(kept!.trials.filter((trial) => trial.chosen)).toHaveLength(Object.keys(kernels.choices).length);
  });

  test('a resumed run goes on with its own, whatever the cache says', { timeout: 300_000 }, async () => {
    const file = join(folder, 'unusual.json');
    writeFileSync(file, JSON.stringify(unusual));
    const whole = await run([...smoke, '--kernels', JSON.stringify(unusual), '--out', join(folder, 'whole')]);
    expect(whole.code, whole.stderr).toBe(0);
    expect(headerOf('whole').kernels).toMatchObject(unusual);
    const out = join(folder, 'cut');
    expect((await run([...smoke, '--kernels', file, '--out', out], 1)).code).toBe(130);
    // The cache holds the measured choice, which is another.
    expect(readFileSync(cacheFile, 'utf8')).not.toContain('"decode": "layered"');
    const resumed = await run(['run', '--resume', out]);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(timeless(resumed)).toEqual(timeless(whole).slice(1));
    const bytes = (run: string) => readFileSync(join(folder, run, 'policy.safetensors'));
    expect(bytes('cut').equals(bytes('whole'))).toBe(true);
  });

  test('other kernels than the stored ones raise an alarm', { timeout: 300_000 }, async () => {
    const out = join(folder, 'moved');
    expect((await run([...smoke, '--kernels', '{"microBatchTokens":64}', '--out', out], 1)).code).toBe(130);
    const moved = await run(['run', '--resume', out, '--kernels', '{"microBatchTokens":128}']);
    expect(moved.code, moved.stderr).toBe(0);
    expect(moved.stderr).toMatch(/alarm: .*other kernels/);
  });

  test('a stored variant that the adapter lacks is an error that says how to go on', { timeout: 300_000 }, async () => {
    const path = join(folder, 'first', 'config.json');
    const header = headerOf('first');
    header.kernels.choices.decode = 'telepathy';
    writeFileSync(path, JSON.stringify(header));
    const ended = await run(['run', '--resume', join(folder, 'first')]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/error: .*kernel variant.*got telepathy.*--kernels fresh/);
  });

  test('a damaged cache is named, and the run goes on', { timeout: 300_000 }, async () => {
    writeFileSync(cacheFile, '{"version":1,"entr');
    const ended = await run(['device', 'smoke']);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toMatch(/note: The cache of kernel measurements is damaged/);
    expect(JSON.parse(readFileSync(cacheFile, 'utf8')).entries).toHaveLength(1);
  });
});
