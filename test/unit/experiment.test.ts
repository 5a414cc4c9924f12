/** Experiment files and their cells: what is refused, what names a cell, how shards divide the work. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configNames, defaultConfig } from '../../src/core/config/config';
import { LabError } from '../../src/core/errors';
import { cellsOf, shardOf } from '../../src/core/experiment/cells';
import { parseExperiment } from '../../src/core/experiment/schema';
import { sampleExperiment } from './experiment-samples';

const { shared, arms, claims } = sampleExperiment;

describe('experiment file', () => {
  test('every shipped file is valid, and has the id of its name', () => {
    const folder = 'public/experiments';
    const names = readdirSync(folder);
    expect(names).toContain('smoke.json');
    for (const name of names) {
      const experiment = parseExperiment(JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')), name);
      expect(`${experiment.id}.json`).toBe(name);
    }
  });

  test('what is valid comes out as it went in', () => {
    expect(parseExperiment(structuredClone(sampleExperiment))).toEqual(sampleExperiment);
  });

  test('an arm may be called base where it is the base', async () => {
    const named = parseExperiment({ ...sampleExperiment, arms: [...arms, { ...arms[2], id: 'base' }] });
    const cells = await cellsOf(named, { arms: ['base'], seeds: [1, 1], setups: ['small'] });
    expect(cells.map((cell) => [cell.policy, cell.dependsOn])).toEqual([['base', []]]);
  });

  const arm = (changes: object) => ({ arms: [arms[0], { ...arms[1], ...changes }, ...arms.slice(2)] });
  const claim = (changes: object) => ({ claims: [{ ...claims[0], ...changes }] });
  test.each<[string, object, RegExp]>([
    ['an unknown key', { sedes: 3 }, /x\.json, sedes: expected no other keys than version, id, .*claims, got "sedes"/],
    ['an unknown key of an arm', arm({ polcy: 'base' }), /arms\.1\.polcy/],
    ['an id that is no file name', arm({ id: '../x' }), /arms\.1\.id/],
    ['an id with the separator of file names', arm({ id: 'a--b' }), /arms\.1\.id/],
    ['a reserved id', arm({ id: 'train' }), /arms\.1\.id.*other than train/],
    ['an arm called base that is trained', arm({ id: 'base' }), /arm base, id.*policy train/],
    ['an id twice', arm({ id: 'full' }), /same id.*full/],
    ['an unknown setting', arm({ config: { windw: 3 } }), /arms\.1\.config.*windw/],
    ['a bad value', { shared: { ...shared, window: 'x' } }, /shared.*window/],
    ['settings that do not fit together', arm({ config: { window: 24 } }), /setup small, arm masked: window/],
    ['a warm start of its own', arm({ config: { warmStart: 2 } }), /arm masked, config\.warmStart/],
    ['a policy of nobody', arm({ policy: 'nobody' }), /no such trained arm.*arm masked.*nobody/],
    ['a policy of itself', arm({ policy: 'masked' }), /no such trained arm.*arm masked/],
    ['a policy of an arm that is not trained', arm({ policy: 'swap' }), /no such trained arm.*arm masked.*swap/],
    ['a writer of an arm that is trained', arm({ writer: 'full' }), /arm masked, writer/],
    ['a writer called train', arm({ policy: 'base', writer: 'train' }), /arm masked, writer/],
    ['more seeds than the experiment', arm({ seeds: 9 }), /arm masked, seeds/],
    ['more seeds than the arm it needs', { arms: [{ ...arms[0], seeds: 1 }, ...arms.slice(1)] }, /arm swap, seeds/],
    ['a setup that is not there', arm({ setups: ['big'] }), /arm masked, setups.*big/],
    [
      'a setup without the arm it needs',
      { arms: [{ ...arms[0], setups: ['small'] }, ...arms.slice(1)] },
      /arm swap, setups.*large/,
    ],
    ['a claim about nobody', claim({ left: { arm: 'nobody', outcome: 'comp' } }), /claim trained.*nobody/],
    ['a claim of nobody', claim({ kind: 'hearsay' }), /claims\.0\.kind/],
    ['a claim of the paper without a quotation', claim({ kind: 'paper' }), /quotes nothing.*claim trained, paper/],
    ['a claim about nothing', claim({ left: { arm: 'full', outcome: 'joy' } }), /claims\.0\.left\.outcome/],
    ['a claim about one number', claim({ right: claims[0]?.left }), /itself.*claim trained/],
    ['no seeds', { seeds: 0 }, /seeds/],
    ['half a seed', { seeds: 1.5 }, /seeds/],
    [
      'too many cells',
      { seeds: 1000, arms: Array.from({ length: 99 }, (_, i) => ({ ...arms[0], id: `a${i}` })), claims: [] },
      /too large/,
    ],
  ])('%s is refused and named', (_what, changes, message) => {
    const parse = () => parseExperiment({ ...structuredClone(sampleExperiment), ...changes }, 'x.json');
    expect(parse).toThrow(LabError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/x\.json/);
  });

  test('anything at all is parsed or refused with a LabError', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...Object.keys(sampleExperiment)), (value, key) => {
        try {
          parseExperiment({ ...sampleExperiment, [key]: value });
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(LabError);
        }
      }),
    );
  });
});

describe('cells', () => {
  test('come by seed, setup and arm, what is needed first', async () => {
    const cells = await cellsOf(sampleExperiment);
    expect(cells.map(({ setup, arm, seed }) => `${seed} ${setup.id} ${arm.id}`)).toEqual(
      [1, 2, 3].flatMap((seed) =>
        ['small', 'large'].flatMap((setup) =>
          // `few` has two seeds; `swap` stands before `writer` in the file and needs it.
          ['full', 'masked', 'base-policy', 'writer', 'swap', ...(seed < 3 ? ['few'] : [])].map(
            (arm) => `${seed} ${setup} ${arm}`,
          ),
        ),
      ),
    );
    for (const [i, cell] of cells.entries())
      for (const needed of cell.dependsOn) expect(cells.indexOf(needed)).toBeLessThan(i);
  });

  test('have the settings of the experiment, the setup, the arm and the warm start, later ones first', async () => {
    const experiment = parseExperiment({
      ...sampleExperiment,
      warmStarts: 2,
      setups: [{ id: 'small', title: 'Small', config: { window: 70, episodes: 16 } }],
      arms: [{ ...arms[0], config: { episodes: 24 } }],
      claims: [],
    });
    const cells = await cellsOf(experiment);
    expect(cells.map(({ config }) => [config.iterations, config.window, config.episodes, config.warmStart])).toEqual([
      [2, 70, 24, 1],
      [2, 70, 24, 2],
      [2, 70, 24, 1],
    ]);
  });

  test('a filter keeps what the chosen ones need', async () => {
    const cells = await cellsOf(sampleExperiment, { seeds: [2, 2], arms: ['swap'], setups: ['large'] });
    expect(cells.map(({ arm }) => arm.id)).toEqual(['full', 'writer', 'swap']);
    await expect(cellsOf(sampleExperiment, { arms: ['nobody'] })).rejects.toThrow(/no such arm.*nobody/);
    await expect(cellsOf(sampleExperiment, { setups: ['nowhere'] })).rejects.toThrow(/no such setup.*nowhere/);
  });

  const hashes = async (changes: object) => {
    const cells = await cellsOf(parseExperiment({ ...structuredClone(sampleExperiment), ...changes }), {
      seeds: [1, 1],
    });
    return new Map(cells.map((cell) => [`${cell.setup.id} ${cell.arm.id}`, cell.hash]));
  };

  test('the hash is that of the settings that decide', async () => {
    const config = { dModel: 32, finalEvalEpisodes: 8, iterations: 2, kernels: 'default', trainSummary: 'masked' };
    const sorted = Object.fromEntries(Object.entries({ ...config, mlp: 128 }).sort(([a], [b]) => (a < b ? -1 : 1)));
    const { dModel: _, ...expected } = sorted as typeof config; // 32 is the default
    const text = JSON.stringify({ config: expected, policy: 'train', version: 1, writer: null });
    const wanted = createHash('sha256').update(text).digest('hex').slice(0, 16);
    expect((await hashes({})).get('large masked')).toBe(wanted);
  });

  test('the hash changes with what decides the numbers, and with nothing else', async () => {
    const before = await hashes({});
    const same = await hashes({
      title: 'Other words',
      seeds: 4,
      shared: {
        kernels: 'default',
        finalEvalEpisodes: 8,
        iterations: 2,
        terminalWorkers: 5,
        window: defaultConfig.window,
      },
      claims: [],
    });
    expect(same).toEqual(before);
    expect(new Set(before.values()).size).toBe(before.size - 2); // `few` does what `full` does
    const after = await hashes({ arms: [{ ...arms[0], config: { clip: 0.3 } }, ...arms.slice(1)] });
    const changed = [...before].filter(([key, hash]) => after.get(key) !== hash).map(([key]) => key);
    // What evaluates the policy of `full` changes with it.
    expect(changed).toEqual(['small full', 'small swap', 'large full', 'large swap']);
  });

  test('a default that changes asks for another version of the hash', () => {
    // Hashes leave defaults out: results of the old default would pass for results of the new one. After a change, raise
    // rulesVersion in cells.ts, and correct the line here. A new key whose default changes nothing needs neither.
    const known = [
      'suite',
      'window',
      'actionCap',
      'observationCap',
      'summaryCap',
      'episodes',
      'iterations',
      'advantage',
      'gamma',
      'lambdaScope',
      'lambda',
      'clip',
      'learningRate',
      'learningRateEnd',
      'criticLearningRate',
      'epochs',
      'minibatches',
      'valueUpdates',
      'valuePretrain',
      'gradClip',
      'adamBeta1',
      'adamBeta2',
      'adamEpsilon',
      'klLimit',
      'evalEvery',
      'evalEpisodes',
      'finalEvalEpisodes',
      'maxCompactions',
      'tailSteps',
      'turnSlack',
      'dModel',
      'layers',
      'heads',
      'mlp',
    ] as const;
    expect(configNames).toEqual(expect.arrayContaining([...known]));
    expect(known.map((name) => defaultConfig[name]).join(' ')).toBe(
      'chain 64 8 16 12 64 60 paper 1 rollout 0.98 0.2 0.002 0.1 0.002 1 2 2 50 1 0.9 0.999 1e-8 0.2 5 256 1024 3 2 3 32 1 4 64',
    );
  });
});

describe('shards', () => {
  test('are a partition that keeps a policy with those who need it, for any numbers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 9 }),
        async (seeds, setupCount, of) => {
          const many = Array.from({ length: setupCount }, (_, i) => ({ id: `s${i}`, title: 'S', config: {} }));
          const experiment = parseExperiment({
            ...sampleExperiment,
            seeds,
            setups: many,
            arms: arms.slice(0, 3),
            claims: [],
          });
          const cells = await cellsOf(experiment);
          const shards = Array.from({ length: of }, (_, i) => shardOf(experiment, cells, i + 1, of));
          expect(
            shards
              .flat()
              .map(({ name }) => name)
              .sort(),
          ).toEqual(cells.map(({ name }) => name).sort());
          for (const shard of shards)
            for (const cell of shard) for (const needed of cell.dependsOn) expect(shard).toContain(needed);
          const sizes = shards.map((shard) => shard.length / 3);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(2);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('setups take turns, also where the number of shards divides theirs', async () => {
    const cells = shardOf(sampleExperiment, await cellsOf(sampleExperiment), 1, 2);
    expect(new Set(cells.map(({ setup }) => setup.id))).toEqual(new Set(['small', 'large']));
  });
});
