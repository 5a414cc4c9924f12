/** Results of single runs: the files that are shipped, their index, and which run a configuration and a seed are. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configNames, parseConfig, type RunConfig } from '../../src/core/config/config';
import { type ConfigKey, configTable } from '../../src/core/config/config-table';
import { indexEntry, isRunOf, parseRunIndex, parseRunResult } from '../../src/core/recording/run-result';
import { writeResult } from '../../src/headless/result-file';
import { isPreset, presets } from '../../src/run/presets/presets';
import { comparable, timeByPace } from '../../src/ui/recorded/pace';
import { fakeRecord } from '../browser/ui/fake-run';

const folder = 'public/results';
const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));
const index = parseRunIndex(read('runs.json'), 'runs.json');
const runs = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .filter((file) => (read(file) as { command?: string }).command !== undefined);

/** Another valid value of a key, by type; null where the key has but one. */
function another(name: keyof RunConfig, config: RunConfig): unknown {
  const key: ConfigKey = configTable[name];
  if (key.type === 'boolean') return !config[name];
  if (key.type === 'choice') return key.options.find((option) => option !== config[name]);
  return Number(config[name]) + 1;
}

describe('the index of public/results', () => {
  test('has each result of a run, as its file has it, and nothing else', () => {
    expect(runs.length).toBeGreaterThanOrEqual(5);
    expect(index).toEqual(
      runs.map((file) => indexEntry(file.slice(0, -'.json'.length), parseRunResult(read(file), file))),
    );
  });

  test('no two entries are the same run', () => {
    const keys = index.map(({ config, seed }) => JSON.stringify([config, seed]));
    expect(new Set(keys).size).toBe(index.length);
  });

  test.each(index)('$name is a run of its preset as the preset is today', ({ config, preset, seed }) => {
    if (!isPreset(preset)) throw new Error(`${preset} is no preset`);
    expect(isRunOf({ config, seed }, parseConfig(presets[preset].config), seed)).toBe(true);
  });
});

describe('which run it is', () => {
  const config = parseConfig(presets.quick.config);
  const [entry] = index.filter(({ name }) => name === 'quick-seed-1');

  test('exactly this configuration and seed', () => {
    expect(index.filter((run) => isRunOf(run, config, 1))).toEqual([entry]);
  });
  test('another seed is another run', () => {
    expect(index.filter((run) => isRunOf(run, config, 4))).toEqual([]);
    expect(index.filter((run) => isRunOf(run, config, 2)).map(({ name }) => name)).toEqual(['quick-seed-2']);
  });
  test.each(configNames)('another value of %s is another run', (name) => {
    const value = another(name, config);
    expect(value).not.toBe(config[name]);
    expect(index.filter((run) => isRunOf(run, { ...config, [name]: value } as RunConfig, 1))).toEqual([]);
  });
});

describe('the time of a run by the pace of another', () => {
  const ran = parseConfig({ ...presets.quick.config, iterations: 40, episodes: 64 });
  const record = { ...fakeRecord(1, ran), rolloutMs: 100, updateMs: 50, evalMs: 0 };

  test('in proportion to iterations and episodes, evaluations included', () => {
    const records = [record, { ...record, evalMs: 100 }];
    expect(timeByPace(records, ran, ran)).toBe(40 * 200);
    expect(timeByPace(records, ran, { ...ran, iterations: 10, episodes: 128 })).toBe(10 * 2 * 200);
    expect(timeByPace([], ran, ran)).toBe(null);
  });
  test('only of runs whose episodes cost the same', () => {
    expect(comparable(ran, { ...ran, lambda: 0.5, iterations: 7, episodes: 8, learningRate: 0.1 })).toBe(true);
    expect(comparable(ran, { ...ran, window: 96 })).toBe(false);
    expect(comparable(ran, { ...ran, layers: ran.layers + 1 })).toBe(false);
  });
});

describe('a result file', () => {
  const good = read('quick-seed-1.json') as { iterations: object[]; outcome: object };

  test('is read as "lab run --result" writes it', async () => {
    const config = parseConfig({ ...presets.quick.config, iterations: 5 });
    const records = Array.from({ length: 5 }, (_, i) => fakeRecord(i + 1, config));
    const outcome = { status: 'finished', iterations: 5, envTokens: 9, elapsedMs: 1234.5 } as const;
    const path = join(mkdtempSync(join(tmpdir(), 'result-')), 'r.json');
    const header = { config, seed: 3, preset: 'quick', createdAt: '2026-12-02T10:30:18.099Z', adapter: 'fake' };
    await writeResult(
      path,
      'lab run quick --seed 3',
      { ...header, runId: 'r', engine: 'webgpu', build: '0.1.0+0e1d77b699' },
      records,
      { ...outcome, evalComp: null, evalSingle: null, evalLong: null },
    );
    const result = parseRunResult(JSON.parse(readFileSync(path, 'utf8')), path);
    expect(isRunOf(result, config, 3)).toBe(true);
    expect(result.iterations.map(({ trainSuccess }) => trainSuccess)).toEqual(
      records.map(({ trainSuccess }) => Number(trainSuccess.toPrecision(6))),
    );
    expect(result.iterations.map(({ evalComp }) => evalComp?.episodes)).toEqual(
      records.map(({ evalComp }) => evalComp?.episodes),
    );
  });

  test.each<[string, unknown, string]>([
    ['a list', [], 'an object'],
    ['a key too many', { ...good, more: 1 }, 'no other keys'],
    ['another version', { ...good, version: 2 }, 'version'],
    ['a success above 1', { ...good, iterations: [{ ...good.iterations[0], trainSuccess: 1.5 }] }, 'trainSuccess'],
    ['a gap', { ...good, iterations: good.iterations.toSpliced(3, 1) }, 'without gaps'],
    ['fewer iterations than its outcome', { ...good, iterations: good.iterations.slice(0, -1) }, 'as many as'],
    ['no iteration', { ...good, iterations: [] }, 'iterations'],
    ['an unknown setting', { ...good, config: { windw: 3 } }, 'windw'],
    ['no time', { ...good, createdAt: 'yesterday' }, 'createdAt'],
  ])('%s is refused, and said where', (_, input, named) => {
    const refused = () => parseRunResult(input, 'r.json');
    expect(refused).toThrow(expect.objectContaining({ code: 'run-result.bad' }));
    try {
      refused();
    } catch (thrown) {
      expect(JSON.stringify({ ...(thrown as object), message: String(thrown) })).toContain(named);
    }
  });
  test.each([['../secret'], ['a/b'], ['A'], ['']])('an index that names the file "%s" is refused', (name) => {
    expect(() => parseRunIndex({ version: 1, runs: [{ ...index[0], name }] }, 'runs.json')).toThrow(
      expect.objectContaining({ code: 'run-result.bad-index' }),
    );
  });
});
