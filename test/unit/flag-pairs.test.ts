/** Every pair of flags of every command is either carried out or refused: none is accepted and then ignored. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import type { Command } from '../../src/headless/command';
import { sampleExperiment } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

// No command may get as far as a device: it would train.
vi.mock('../../src/gpu/dawn', () => ({ dawnGpu: () => Promise.reject(new Error('the device was asked for')) }));
vi.setConfig({ testTimeout: 120_000 }); // a hundred command lines, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'flag-pairs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);
const experiment = at('sample.json');
writeFileSync(experiment, JSON.stringify(sampleExperiment));
const base = 'public/bases/chain-small.safetensors';
const bundle = at('bundle.json');
writeFileSync(bundle, JSON.stringify({ version: 1, experiment: sampleExperiment, cells: [] }));

/** Words before the flags, a good value of each flag, and the pairs that are refused. A flag that is new must be added. */
const commands: Record<string, { words: string[]; values: Record<string, string>; refused: string[] }> = {
  advantages: { words: [], values: { engine: 'cpu' }, refused: [] },
  loss: { words: [], values: { engine: 'cpu' }, refused: [] },
  config: { words: [], values: {}, refused: [] },
  device: { words: ['smoke'], values: { fresh: '', set: 'iterations=3' }, refused: [] },
  eval: {
    words: ['smoke', `--policy=${base}`],
    values: {
      writer: base,
      modes: 'single',
      seed: '1',
      episodes: '2',
      shell: '1',
      set: 'learningRate=0.001',
      kernels: 'fresh',
    },
    refused: ['writer modes'],
  },
  collect: {
    words: [bundle],
    values: {
      experiment,
      out: at('out.json'),
      csv: at('out.csv'),
      claims: at('claims.csv'),
      'strip-times': '',
      json: '',
    },
    refused: ['experiment strip-times', 'claims strip-times', 'strip-times json'],
  },
  experiment: {
    words: [experiment, `--out=${at('cells')}`],
    values: {
      seeds: '1',
      arms: 'full',
      setups: 'small',
      shard: '1/2',
      known: bundle,
      list: '',
      kernels: 'fresh',
    },
    refused: ['list kernels'],
  },
  pretrain: {
    words: ['chain-small', `--out=${at('base.safetensors')}`],
    values: { 'warm-start': '2', seed: '3', steps: '1', eval: '1', kernels: 'fresh' },
    refused: ['warm-start seed'],
  },
  record: {
    words: ['smoke', `--policy=${base}`, '--training=none', `--out=${at('recording.json')}`],
    values: { title: 'A task', family: 'chain', index: '0', seed: '1', tasks: '2', kernels: 'fresh' },
    refused: ['family index'],
  },
  run: {
    words: ['smoke'],
    values: {
      seed: '1',
      set: 'iterations=1',
      out: at('run'),
      result: at('result.json'),
      memory: at('memory'),
      resume: at('run'),
      kernels: 'fresh',
    },
    // No run is there, so all with --resume are refused; headless-usage.test.ts has those of a run that is there.
    refused: ['seed resume', 'set resume', 'out resume', 'result resume', 'memory resume', 'resume kernels'],
  },
  verify: { words: [bundle], values: { arms: '1', seeds: '1', pick: '1', kernels: 'fresh' }, refused: [] },
};

const modules = import.meta.glob<{ default: Command }>('../../src/headless/commands/*.ts', { eager: true });
const all = Object.values(modules).map((module) => module.default);

test('every command but tasks, whose actions have flags of their own, is in the table', () => {
  // lab tasks is tested in tasks-command.test.ts: it refuses each flag that an action does not name.
  expect(Object.keys(commands).sort()).toEqual(
    all
      .map(({ name }) => name)
      .filter((n) => n !== 'tasks')
      .sort(),
  );
});

test.each(Object.keys(commands))('lab %s', async (name) => {
  const { words, values, refused } = commands[name]!;
  const command = all.find((each) => each.name === name)!;
  const fixed = words.flatMap((word) => /^--([\w-]+)/.exec(word)?.[1] ?? []);
  const flags = Object.keys(command.options ?? {}).filter((flag) => !fixed.includes(flag));
  expect(Object.keys(values).sort()).toEqual([...flags].sort());
  const given = (flag: string) => (values[flag] === '' ? `--${flag}` : `--${flag}=${values[flag]}`);
  const got: string[] = [];
  const pairs = flags.flatMap((a, i) => flags.slice(i + 1).map((b) => [a, b] as const));
  for (const [a, b] of pairs) {
    const answer = await labInProcess([name, ...words, given(a), given(b)]);
    if (answer.code === 2) got.push(`${a} ${b}`);
  }
  expect(got).toEqual(refused);
});

test('a refusal names the flag and what gives it an effect', async () => {
  const { code, stderr } = await labInProcess(['collect', bundle, '--strip-times']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/--strip-times would do nothing here.*--out or --csv/)]);
});

test('--list --kernels is refused, and --list alone lists', async () => {
  const line = ['experiment', experiment, `--out=${at('cells')}`, '--list'];
  expect((await labInProcess([...line, '--kernels=fresh'])).stderr).toMatch(/--kernels would do nothing.*no --list/);
  expect(jsonLines((await labInProcess(line)).stdout).length).toBeGreaterThan(0);
});
