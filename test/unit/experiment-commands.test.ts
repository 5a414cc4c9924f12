/** What the commands about experiments say to wrong arguments and files, and what `collect` takes from a folder; no device. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defaultConfig } from '../../src/core/config/config';
import { cellsOf, fingerprint } from '../../src/core/experiment/cells';
import { parseResults } from '../../src/core/experiment/result';
import { loadBase } from '../../src/run/session/session';
import { sampleExperiment, sampleResult } from './experiment-samples';
import { jsonLines, labInProcess } from './lab-in-process';

vi.mock('../../src/gpu/dawn', () => ({
  dawnGpu: () => Promise.reject(new Error('the device was asked for')),
}));
vi.setConfig({ testTimeout: 30_000 }); // the first test loads a command's modules, on a busy machine

const folder = mkdtempSync(join(tmpdir(), 'experiment-commands-'));
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  writeFileSync(at('sample.json'), JSON.stringify(sampleExperiment));
  writeFileSync(at('bad.json'), JSON.stringify({ ...sampleExperiment, seeds: 0 }));
  writeFileSync(at('text.txt'), 'seeds: 3');
  const [first, ...arms] = sampleExperiment.arms;
  const unknown = { ...sampleExperiment, arms: [{ ...first, polcy: 'base' }, ...arms] };
  writeFileSync(at('unknown.json'), JSON.stringify(unknown));
  writeFileSync(at('empty.json'), JSON.stringify({ version: 1, experiment: sampleExperiment, cells: [] }));
  mkdirSync(at('cells'));
  writeFileSync(at('cells/experiment.json'), JSON.stringify(sampleExperiment));
  for (const cell of await cellsOf(sampleExperiment, { setups: ['small'] })) {
    const { setup, arm, seed, hash, name } = cell;
    const result = { ...sampleResult, setup: setup.id, arm: arm.id, seed, hash, elapsedMs: seed };
    writeFileSync(at(`cells/${name}.json`), JSON.stringify(result));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** @param line `@` stands for the test's folder */
const lab = (line: string) => labInProcess(line.replaceAll('@', folder).split(' '));

test.each([
  ['experiment', 2, 'Missing experiment file'],
  ['experiment @/none.json', 1, 'nothing at that path'],
  ['experiment @/bad.json', 1, 'bad.json, seeds'],
  ['experiment @/sample.json --seeds x', 2, 'a or a..b, from 1 to 3, got "x"'],
  ['experiment @/sample.json --seeds 2..9', 2, 'a or a..b, from 1 to 3'],
  ['experiment @/sample.json --seeds 3..2', 2, 'a or a..b, from 1 to 3'],
  ['experiment @/sample.json --shard 3/2', 2, 'i/n with 1 ≤ i ≤ n'],
  ['experiment @/sample.json --shard 0/2', 2, 'i/n with 1 ≤ i ≤ n'],
  ['experiment @/sample.json --arms mask', 2, 'Did you mean "masked"?'],
  ['experiment @/sample.json --setups nowhere', 2, 'small | large'],
  ['experiment @/sample.json --arms ,', 2, 'Bad value for --arms: expected full | masked'],
  ['experiment @/sample.json --setups=', 2, 'Bad value for --setups: expected small | large, got no name'],
  ['experiment @/text.txt', 1, 'expected an experiment'],
  [
    'experiment @/unknown.json',
    1,
    'unknown.json, arms.0.polcy: expected no other keys than id, title, isolates, config',
  ],
  ['collect @/text.txt', 1, 'expected the results of an experiment'],
  ['collect @/cells --csv @/one --out @/x/../one', 2, '--out and --csv name the same file'],
  ['collect @/cells --csv @/one --claims @/one', 2, '--csv and --claims name the same file'],
  ['collect @/empty.json --csv @/empty.json', 2, '--csv would replace the file that is read'],
  ['experiment @/sample.json --out @/bad.json', 1, 'a file'],
  ['collect @/nothing', 1, 'nothing at that path'],
  ['collect @/bad.json', 1, 'Bad results'],
  ['verify @/empty.json', 1, 'nothing to verify'],
  ['verify @/empty.json --arms 0', 2, 'Bad value for --arms'],
])('%s → %i', async (line, code, message) => {
  const answer = await lab(line);
  expect(answer.stderr).toContain(message);
  expect(answer.code).toBe(code);
  expect(answer.stderr).not.toContain('the device was asked for');
  expect(readdirSync(folder)).not.toContain('one');
});

test('--list says what there is to do and what is done, and makes no folder', async () => {
  const { stdout, code } = await lab('experiment @/sample.json --arms swap --seeds 2 --out @/unborn --list');
  expect(code).toBe(0);
  const lines = jsonLines(stdout);
  expect(lines.map(({ name, done }) => [name.replace(/--[0-9a-f]+$/, ''), done])).toEqual(
    ['small', 'large'].flatMap((setup) => ['full', 'writer', 'swap'].map((arm) => [`${setup}--${arm}--seed-2`, false])),
  );
  expect(readdirSync(folder)).not.toContain('unborn');
});

test('--list changes nothing: what is damaged or from another base is named, and not done', async () => {
  const [damaged, outdated] = ['full', 'masked'].map(
    (arm) => readdirSync(at('cells')).find((name) => name.startsWith(`small--${arm}--seed-1--`))!,
  );
  const texts = [damaged!, outdated!].map((name) => readFileSync(at(`cells/${name}`), 'utf8'));
  writeFileSync(at(`cells/${damaged}`), texts[0]!.slice(0, 50));
  writeFileSync(at(`cells/${outdated}`), JSON.stringify({ ...JSON.parse(texts[1]!), base: 'f'.repeat(16) }));
  const content = () => readdirSync(at('cells')).map((name) => [name, readFileSync(at(`cells/${name}`), 'utf8')]);
  const before = content();
  try {
    const words = 'experiment @/sample.json --out @/cells --setups small --seeds 1 --arms full,masked,writer --list';
    const { stdout, stderr, code } = await lab(words);
    expect(code).toBe(0);
    expect(jsonLines(stdout).map(({ name, done }) => [name.split('--')[1], done])).toEqual([
      ['full', false],
      ['masked', false],
      ['writer', true],
    ]);
    expect(stderr).toContain(damaged);
    expect(stderr).toContain('small masked seed 1: computed from another base than the one that is there now');
    expect(content()).toEqual(before);
  } finally {
    for (const [i, name] of [damaged!, outdated!].entries()) writeFileSync(at(`cells/${name}`), texts[i]!);
  }
});

test('collect writes the same bytes whatever the folder or bundle they come from, and names what is missing', async () => {
  const first = await lab('collect @/cells --out @/a.json --csv @/a.csv --json');
  expect(first.code).toBe(0);
  expect(jsonLines(first.stdout).at(-1)).toEqual({ done: true, cells: 17, missing: 17, ignored: 0 });
  expect(first.stderr).toBe('missing: 17 of 34 cells (large 17); lab experiment --list names them\n');
  await lab('collect @/a.json --out @/b.json --json');
  const text = readFileSync(at('a.json'), 'utf8');
  expect(readFileSync(at('b.json'), 'utf8')).toBe(text);
  const { cells } = parseResults(JSON.parse(text), 'a.json');
  expect(cells.map(({ arm, seed }) => `${arm} ${seed}`)).toEqual(
    // In the order of the file, not in that of the cells.
    ['full', 'masked', 'base-policy', 'swap', 'writer', 'few'].flatMap((arm) =>
      (arm === 'few' ? [1, 2] : [1, 2, 3]).map((seed) => `${arm} ${seed}`),
    ),
  );
  expect(text.split('\n').filter((line) => line.includes('"hash"'))).toHaveLength(17);
  expect(readFileSync(at('a.csv'), 'utf8').trim().split('\n')).toHaveLength(18);
});

test('--list --known counts the cells that would be taken over as done, and makes nothing', async () => {
  const doneOf = (text: string) =>
    jsonLines(text)
      .filter(({ done }) => done)
      .map(({ name }) => name);
  const there = doneOf((await lab('experiment @/sample.json --list --out @/cells')).stdout);
  await lab('collect @/cells --out @/known.json --json');
  const line = 'experiment @/sample.json --list --out @/never-made';
  expect(doneOf((await lab(line)).stdout)).toEqual([]);
  expect(doneOf((await lab(`${line} --known @/known.json`)).stdout)).toEqual(there);
  expect(there.length).toBeGreaterThan(0);
  expect(readdirSync(folder)).not.toContain('never-made');
});

test('collect --strip-times blanks time fields and nothing else', async () => {
  await lab('collect @/cells --out @/timed.json --json');
  await lab('collect @/cells --out @/stripped.json --strip-times --json');
  const [timed, stripped] = ['timed.json', 'stripped.json'].map((name) => JSON.parse(readFileSync(at(name), 'utf8')));
  expect(stripped).not.toEqual(timed);
  for (const cell of timed.cells) Object.assign(cell, { createdAt: '', elapsedMs: 0 });
  expect(stripped).toEqual(timed);
});

test('collect leaves a damaged cell where it is, and names it', async () => {
  const name = readdirSync(at('cells')).find((n) => n.includes('masked--seed-1'))!;
  const text = readFileSync(at(`cells/${name}`), 'utf8');
  writeFileSync(at(`cells/${name}`), text.slice(0, 50));
  const { stdout, stderr, code } = await lab('collect @/cells --json');
  expect([code, jsonLines(stdout).at(-1)]).toEqual([0, { done: true, cells: 16, missing: 18, ignored: 1 }]);
  expect(stderr).toContain(name);
  expect(stderr).toContain('expected the result of a cell');
  expect(readFileSync(at(`cells/${name}`), 'utf8')).toBe(text.slice(0, 50));
  writeFileSync(at(`cells/${name}`), text);
});

test('collect leaves out, and names, a cell whose numbers contradict each other', async () => {
  const name = readdirSync(at('cells')).find((n) => n.includes('masked--seed-1'))!;
  const text = readFileSync(at(`cells/${name}`), 'utf8');
  writeFileSync(at(`cells/${name}`), text.replace('"success":0.75', '"success":0.875'));
  try {
    const { stdout, stderr } = await lab('collect @/cells --json');
    expect(jsonLines(stdout).at(-1)).toEqual({ done: true, cells: 16, missing: 18, ignored: 1 });
    expect(stderr).toMatch(/left out: .*masked--seed-1.*evaluation\.comp\.success.*expected 0\.75.*got 0\.875/);
  } finally {
    writeFileSync(at(`cells/${name}`), text);
  }
});

test('collect leaves out what comes from another base than the file that is here, and claims nothing without one', async () => {
  const { parameters } = await loadBase(defaultConfig, 1, async (name) =>
    readFileSync(`public/bases/${name}.safetensors`),
  );
  const now = await fingerprint(parameters);
  const names = readdirSync(at('cells')).filter((name) => /--(full|masked)--seed-1--/.test(name));
  const texts = names.map((name) => readFileSync(at(`cells/${name}`), 'utf8'));
  const withBases = (...bases: string[]) => {
    for (const [i, name] of names.entries())
      writeFileSync(at(`cells/${name}`), JSON.stringify({ ...JSON.parse(texts[i]!), base: bases[i] }));
  };
  try {
    withBases(now, 'f'.repeat(16));
    const { stdout, stderr } = await lab('collect @/cells --out @/based.json --json');
    expect(jsonLines(stdout).at(-1)).toEqual({ done: true, cells: 16, missing: 18, ignored: 1 });
    expect(stderr).toContain(
      `left out: ${names[1]!.replace('.json', '')}: from another base than the one in public/bases`,
    );
    // Of a bundle as of a folder.
    const bundle = JSON.parse(readFileSync(at('based.json'), 'utf8'));
    bundle.cells[0].base = 'e'.repeat(16);
    writeFileSync(at('based.json'), JSON.stringify(bundle));
    expect(jsonLines((await lab('collect @/based.json --json')).stdout).at(-1)).toMatchObject({
      cells: 15,
      ignored: 1,
    });
  } finally {
    for (const [i, name] of names.entries()) writeFileSync(at(`cells/${name}`), texts[i]!);
  }
});

test('of a base that is not on disk collect claims nothing: the cell stays', async () => {
  const many = { ...sampleExperiment, seeds: 3, warmStarts: 3 };
  mkdirSync(at('bases'));
  writeFileSync(at('bases/experiment.json'), JSON.stringify(many));
  for (const { setup, arm, seed, hash, name } of await cellsOf(many, { setups: ['small'], arms: ['full'] })) {
    const result = { ...sampleResult, setup: setup.id, arm: arm.id, seed, hash, base: 'f'.repeat(16) };
    writeFileSync(at(`bases/${name}.json`), JSON.stringify(result));
  }
  // Of chain-small there is one warm start: that one differs, of the others nothing is known.
  const { stdout, stderr } = await lab('collect @/bases --out @/bases.json --json');
  expect(jsonLines(stdout).at(-1)).toMatchObject({ cells: 2, ignored: 1 });
  expect(stderr).toContain('small--full--seed-1--');
  const { cells } = parseResults(JSON.parse(readFileSync(at('bases.json'), 'utf8')), 'bases.json');
  expect(cells.map(({ seed }) => seed)).toEqual([2, 3]);
});
