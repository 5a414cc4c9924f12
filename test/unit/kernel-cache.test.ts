/** Kept measurements of kernels: the file of the command line, and what is believed of what is kept. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { LabErrorParts } from '../../src/core/errors';
import { parseKernelPlan, parseKernelReport, parsePartialPlan, sameKernels } from '../../src/core/kernels';
import type { AdapterSummary } from '../../src/gpu/device';
import { FileKernelCache, kernelCachePath } from '../../src/headless/kernel-cache';
import { runLab } from '../../src/headless/lab';
import { adapterKey, keptReports, modelKey } from '../../src/run/session/kernel-plan';

const folder = mkdtempSync(join(tmpdir(), 'kernel-cache-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shape = { vocabulary: 256, dModel: 32, layers: 1, heads: 4, mlp: 64, positions: 128, previousToken: true };
const report = {
  shape,
  plan: { choices: { matmul: 'registers' }, microBatchTokens: 1024, submitMacs: 2 ** 27 },
  trials: [{ kernel: 'matmul', variant: 'registers', chosen: true, ms: 1.5, compileMs: 20, skipped: null }],
  measureMs: 12,
  measuredAt: '2026-02-03T04:05:06.007Z',
};
const adapter = (changes: Partial<AdapterSummary> = {}): AdapterSummary => ({
  vendor: 'v',
  architecture: 'a',
  description: 'driver 1',
  features: ['subgroups'],
  subgroupMinSize: 8,
  software: true,
  limits: {} as AdapterSummary['limits'],
  ...changes,
});

let files = 0;
function freshCache(content?: string) {
  const path = join(folder, String(files++), 'compaction-lab', 'autotune.json');
  if (content !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  const notices: LabErrorParts[] = [];
  return { path, notices, cache: new FileKernelCache(path, (notice) => notices.push(notice)) };
}

describe('the cache file', () => {
  test('lies where the XDG specification says', () => {
    expect(kernelCachePath({ XDG_CACHE_HOME: '/somewhere' })).toBe('/somewhere/compaction-lab/autotune.json');
    for (const env of [{}, { XDG_CACHE_HOME: '' }, { XDG_CACHE_HOME: 'relative' }])
      expect(kernelCachePath(env)).toMatch(/^\/.*\.cache\/compaction-lab\/autotune\.json$/);
  });

  test('gives back what was kept, for that adapter and version only; a second measurement replaces the first', async () => {
    const { cache, notices } = freshCache();
    expect(await cache.loadKernels('x', '1')).toEqual(new Map());
    await cache.saveKernels('x', '1', 'm', { n: 1 });
    await cache.saveKernels('x', '2', 'm', { n: 2 });
    await cache.saveKernels('y', '1', 'm', { n: 3 });
    await cache.saveKernels('x', '1', 'm', { n: 4 });
    expect(await cache.loadKernels('x', '1')).toEqual(new Map([['m', { n: 4 }]]));
    expect(await cache.loadKernels('x', '2')).toEqual(new Map([['m', { n: 2 }]]));
    expect(await cache.loadKernels('z', '1')).toEqual(new Map());
    expect(notices).toEqual([]);
  });

  test('does not grow without end', async () => {
    const { cache, path } = freshCache();
    for (let i = 0; i < 70; i++) await cache.saveKernels('x', String(i), 'm', { i });
    expect(JSON.parse(readFileSync(path, 'utf8')).entries).toHaveLength(64);
    expect((await cache.loadKernels('x', '69')).size).toBe(1);
    expect((await cache.loadKernels('x', '0')).size).toBe(0);
  });

  test.each(['', 'not JSON', '[]', '{"version":2,"entries":[]}', '{"version":1,"entries":[{"adapter":3}]}'])(
    'damaged content %j is named, counts as empty, and is replaced by the next measurement',
    async (content) => {
      const { cache, notices, path } = freshCache(content);
      expect(await cache.loadKernels('x', '1')).toEqual(new Map());
      expect(notices).toMatchObject([{ code: 'kernels.cache', where: path }]);
      await cache.saveKernels('x', '1', 'm', { n: 1 });
      expect(await cache.loadKernels('x', '1')).toEqual(new Map([['m', { n: 1 }]]));
      expect(notices).toHaveLength(1);
    },
  );
});

describe('what is believed', () => {
  test('a whole report, and nothing else', () => {
    expect(parseKernelReport(report, 'here')).toEqual(report);
    for (const damage of [
      null,
      {},
      { ...report, measureMs: Number.NaN },
      { ...report, plan: { ...report.plan, microBatchTokens: 0 } },
      { ...report, plan: { ...report.plan, choices: { matmul: 3 } } },
      { ...report, trials: [{ ...report.trials[0], skipped: 'lazy' }] },
      { ...report, measuredAt: 'yesterday' },
    ])
      expect(() => parseKernelReport(damage, 'here'), JSON.stringify(damage)).toThrowError(/damaged at here/);
    expect(() => parseKernelPlan({ ...report.plan, more: 1 }, 'here')).toThrowError(/damaged at here/);
  });

  test('a user may name a part of a plan', () => {
    expect(parsePartialPlan({ choices: { matmul: 'tiled' } }, '--kernels')).toEqual({ choices: { matmul: 'tiled' } });
    expect(() => parsePartialPlan({ choice: {} }, '--kernels')).toThrowError(/--kernels/);
  });

  test('kept reports that cannot be read are named and left out', async () => {
    const { cache } = freshCache();
    const key = adapterKey(adapter());
    await cache.saveKernels(key, 'dev', 'good', report);
    await cache.saveKernels(key, 'dev', 'bad', { ...report, plan: null });
    const notices: LabErrorParts[] = [];
    expect(await keptReports(adapter(), { cache, onNotice: (notice) => notices.push(notice) })).toEqual([report]);
    expect(notices).toMatchObject([{ code: 'kernels.bad', where: expect.stringContaining('bad') }]);
  });

  test('a cache that cannot be read is named, and counts as empty', async () => {
    const cache = { loadKernels: () => Promise.reject(new Error('disk on fire')), saveKernels: async () => {} };
    const notices: LabErrorParts[] = [];
    expect(await keptReports(adapter(), { cache, onNotice: (notice) => notices.push(notice) })).toEqual([]);
    expect(notices).toMatchObject([{ what: expect.stringContaining('disk on fire') }]);
  });

  test('keys tell apart what runs at another speed, and nothing else', () => {
    for (const other of [{ description: 'driver 2' }, { subgroupMinSize: 4 }, { features: [] }, { vendor: 'w' }])
      expect(adapterKey(adapter(other))).not.toBe(adapterKey(adapter()));
    expect(adapterKey(adapter({ features: ['subgroups', 'timestamp-query'] }))).toBe(adapterKey(adapter()));
    expect(modelKey({ ...shape, positions: 100 })).toBe(modelKey(shape));
    for (const other of [{ positions: 129 }, { dModel: 64 }, { layers: 2 }, { heads: 2 }, { previousToken: false }])
      expect(modelKey({ ...shape, ...other })).not.toBe(modelKey(shape));
  });

  test('plans are the same when they give the same bits', () => {
    const { plan } = report;
    expect(sameKernels(plan, { ...plan, submitMacs: 1 })).toBe(true);
    expect(sameKernels(undefined, undefined)).toBe(true);
    expect(sameKernels(plan, undefined)).toBe(false);
    expect(sameKernels(plan, { ...plan, microBatchTokens: 512 })).toBe(false);
    expect(sameKernels(plan, { ...plan, choices: { matmul: 'tiled' } })).toBe(false);
  });
});

/** Runs `lab` in this process. */
async function labErrors(words: readonly string[]): Promise<{ code: number; stderr: string }> {
  let stderr = '';
  const io = {
    signal: new AbortController().signal,
    out: () => {},
    err: (line: string) => {
      stderr += line;
    },
    async *lines() {},
  };
  return { code: await runLab([...words], io), stderr };
}

test.each([
  ['{"choices":', /not JSON/],
  ['{"choices":{"matmul":3}}', /Bad choice of kernels at --kernels, choices\.matmul/],
  ['{"microBatchTokens":0}', /microBatchTokens: expected at least 1, got 0\. lab device prints/],
  ['{"matmul":"tiled"}', /at --kernels, matmul: expected no such key, got "matmul"/],
])('--kernels %j is a usage error before any device is opened', async (text, message) => {
  const out = join(folder, 'never-made');
  const { code, stderr } = await labErrors(['run', 'smoke', '--kernels', text, '--out', out]);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(existsSync(out)).toBe(false);
});

test.each(['fresh', '{"choices":{"matmul":"tiled"}}'])(
  '--kernels %j with engine jax is a usage error',
  async (text) => {
    const { code, stderr } = await labErrors(['run', 'smoke', '--set', 'engine=jax', '--kernels', text]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/engine webgpu.*got engine jax/);
  },
);
