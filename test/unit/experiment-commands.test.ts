/** What the commands about experiments say to wrong arguments and files, and what `collect` makes of a folder; no device. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defaultConfig } from '../../src/core/config/config';
import { cellsOf, fingerprint } from '../../src/core/experiment/cells';
import { parseResults } from '../../src/core/experiment/result';
import { armTable } from '../../src/core/experiment/verdicts';
import { compare } from '../../src/headless/experiment/compare';
import { tableText } from '../../src/headless/experiment/report';
import { loadBase } from '../../src/run/session/session';
import { sampleEvaluation, sampleExperiment, sampleResult } from './experiment-samples';
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

test('a rerun is compared by every number on the same machine, by the spread of the seeds elsewhere', () => {
  const { evaluation } = sampleResult;
  const at = (success: number) => ({
    ...sampleResult,
    evaluation: { ...evaluation, comp: { ...evaluation.comp, success } },
  });
  const seeds = [sampleResult, { ...sampleResult, seed: 2 }];
  const judge = (got: typeof sampleResult, all = seeds) => compare(sampleResult, got, all, 1);

  expect(judge({ ...sampleResult, createdAt: '', elapsedMs: 5, command: 'x' }).verdict).toBe('identical');
  expect(judge(at(0.76))).toEqual({
    ok: false,
    verdict: 'different',
    faults: ['evaluation.comp.success: recorded 0.75, got 0.76'],
  });
  expect(judge({ ...sampleResult, alarms: {} }).faults).toEqual(['alarms.kl-limit: recorded 1, got nothing']);
  expect(judge({ ...sampleResult, curve: null }).faults).toHaveLength(1);
  // Equal numbers are equal wherever they were computed.
  expect(judge({ ...sampleResult, build: 'other' }).verdict).toBe('identical');
  // Three equal seeds hold nothing but what they are; of the values at fault each is named.
  const three = [1, 2, 3].map((seed) => ({ ...sampleResult, seed }));
  const elsewhere = judge({ ...at(0.76), adapter: 'other' }, three);
  expect(elsewhere).toMatchObject({ ok: false, verdict: 'outside' });
  expect(elsewhere.faults).toEqual([
    'evaluation.comp.success: the new 0.76 is outside the prediction interval 0.750 to 0.750 of the recorded seeds',
  ]);
  expect(elsewhere.successes?.[1]).toMatchObject({ mode: 'comp', recorded: 0.75, got: 0.76, ofAll: { low: 0.75 } });
  // Fewer leave nothing to judge the recorded one by.
  for (const seeds of [three.slice(0, 2), three.slice(0, 1)])
    expect(judge({ ...at(0.75), alarms: {}, adapter: 'other' }, seeds)).toMatchObject({
      ok: null,
      verdict: 'undecided',
    });
});

/** A folder of cells. @param comp success by setup and arm, of seeds 1 … */
async function folderOf(name: string, comp: Readonly<Record<string, readonly number[]>>): Promise<void> {
  mkdirSync(at(name));
  writeFileSync(at(`${name}/experiment.json`), JSON.stringify(sampleExperiment));
  for (const cell of await cellsOf(sampleExperiment)) {
    const { setup, arm, seed, hash } = cell;
    const success = comp[`${setup.id} ${arm.id}`]?.[seed - 1];
    if (success === undefined) continue;
    const evaluation = sampleEvaluation(success);
    const result = { ...sampleResult, setup: setup.id, arm: arm.id, seed, hash, evaluation };
    writeFileSync(at(`${name}/${cell.name}.json`), JSON.stringify(result));
  }
}

// Differences of the claim: 0.3, 0.5, 0.4. Mean 0.4, s 0.1, t(0.975, 2) = 4.302653 (NIST/SEMATECH e-Handbook, table of t):
// 0.4 ± 0.248414. Two of 8 sign patterns are as far from 0: p = 0.25, the only test. Deviations of the sides: −0.1, 0, 0.1 and
// 0, −0.1, 0.1, so r = 0.01 / 0.02.
const decided = {
  'small full': [0.6, 0.7, 0.8],
  'small base-policy': [0.3, 0.2, 0.4],
  'large full': [0.5],
};

test('collect prints the table in the layout of the paper, then each claim with its numbers', async () => {
  await folderOf('decided', decided);
  const { stdout, stderr } = await lab('collect @/decided');
  const lines = stdout.split('\n');
  expect(lines[2]).toMatch(/\| Small +\| Large$/);
  expect(lines[3]).toMatch(/^arm +\| n +single +comp +long +\| n +single +comp +long$/);
  expect(lines[4]).toMatch(/^Full +\| 3 +50\.0 ±0\.0 +70\.0 ±24\.8 +62\.5 ±0\.0 +\| 1 +50\.0 +50\.0 +62\.5$/);
  expect(lines[5]).toMatch(/^Masked +\| 0 +– +– +– +\| 0 +– +– +–$/);
  const claim = lines.indexOf('Training helps.');
  expect(lines[claim - 2]).toMatch(/^setup +difference +95 % interval +n +p +Holm p +r +verdict$/);
  expect(lines[claim + 1]).toMatch(
    /^ {2}Small +\+40\.0 +points +\[\+15\.2, \+64\.8\] +3 +0\.250 +0\.250 +0\.50 {2}reproduced$/,
  );
  expect(lines[claim + 2]).toBe('  no seed has both sides yet: Large');
  expect(stderr).toBe('missing: 27 of 34 cells (small 11, large 16); lab experiment --list names them\n');
});

test('setups without cells are named; blocks that do not fit a line go below', async () => {
  const { stdout } = await lab('collect @/cells');
  expect(stdout).toContain('\nNo cell yet: Large\n');
  expect(stdout).not.toContain('| Large');
  const wide = { ...sampleExperiment, setups: ['a', 'b'].map((id) => ({ id, title: id.repeat(70), config: {} })) };
  const table = tableText(
    { version: 1, experiment: wide, cells: wide.setups.map(({ id }) => ({ ...sampleResult, setup: id })) },
    [],
  ).split('\n');
  expect(table.filter((line) => line.startsWith('arm'))).toHaveLength(2);
  expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(120);
});

test('arms that no setup side by side has are left out there; one that some has is dotted in the others', () => {
  const arms = sampleExperiment.arms.map((arm) =>
    arm.id === 'masked' ? { ...arm, setups: ['a'] } : arm.id === 'few' ? { ...arm, setups: ['b'] } : arm,
  );
  const tiersOf = (titles: number) => {
    const setups = ['a', 'b'].map((id) => ({ id, title: id.repeat(titles), config: {} }));
    const cells = setups.map(({ id }) => ({ ...sampleResult, setup: id }));
    const results = { version: 1, experiment: { ...sampleExperiment, arms, setups }, cells } as const;
    const [, ...tiers] = tableText(results, armTable(results)).split('\n\n');
    return tiers.map((tier) => tier.trim().split('\n').slice(2));
  };
  const [above, below] = tiersOf(70).map((lines) => lines.map((line) => line.split('|')[0]!.trim()));
  expect(above).toEqual(['Full', 'Masked', 'Base', 'Swap', 'Writer']);
  expect(below).toEqual(['Full', 'Base', 'Swap', 'Writer', 'Few seeds']);
  const [both] = tiersOf(1);
  expect(both).toHaveLength(6);
  expect(both![1]).toMatch(/^Masked +\| +0 +– +– +– +\| +· +· +· +·$/);
});

test('collect --json and --claims say of each claim what the table says', async () => {
  const { stdout } = await lab('collect @/decided --json --claims @/claims.csv');
  const all = jsonLines(stdout);
  const comp = all.filter((line) => line.kind === 'arm' && line.outcome === 'comp' && line.setup === 'small');
  expect(comp.map(({ arm, n, missing }) => [arm, n, missing])).toEqual([
    ['full', 3, []],
    ['masked', 0, [1, 2, 3]],
    ['base-policy', 3, []],
    ['swap', 0, [1, 2, 3]],
    ['writer', 0, [1, 2, 3]],
    ['few', 0, [1, 2]],
  ]);
  const [small, large] = all.filter(({ kind }) => kind === 'claim');
  expect(small).toMatchObject({ setup: 'small', n: 3, adjustedP: 0.25, verdict: 'reproduced', small: false });
  expect(small.interval.low).toBeCloseTo(0.4 - 0.248414, 5);
  expect(large).toMatchObject({ setup: 'large', n: 0, unpaired: [1], verdict: 'unresolved' });
  const rows = readFileSync(at('claims.csv'), 'utf8').trim().split('\n');
  expect(rows).toHaveLength(3);
  const [names, first] = rows.map((row) => row.split(','));
  const field = (name: string) => first![names!.indexOf(name)];
  expect(['claim', 'setup', 'n', 'adjustedP', 'verdict', 'small', 'text'].map(field)).toEqual([
    'trained',
    'small',
    '3',
    '0.25',
    'reproduced',
    'false',
    'Training helps.',
  ]);
  expect(Number(field('high95'))).toBeCloseTo(0.4 + 0.248414, 5);
});

test('seeds that a setup does not ask for are not missing', () => {
  const setups = sampleExperiment.setups.map((setup) => ({ ...setup, seeds: setup.id === 'large' ? 1 : 3 }));
  const table = armTable({ version: 1, experiment: { ...sampleExperiment, setups }, cells: [] });
  const missing = (setup: string) => table.find((s) => s.setup === setup && s.arm === 'full')?.missing;
  expect([missing('small'), missing('large')]).toEqual([[1, 2, 3], [1]]);
});
