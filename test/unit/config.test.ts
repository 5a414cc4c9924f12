import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkRules,
  compactThreshold,
  configNames,
  defaultConfig,
  nonDefault,
  parseConfig,
  parsePartialConfig,
  parseSeed,
  smallestReserve,
} from '../../src/core/config/config';
import { type ConfigKey, configTable } from '../../src/core/config/config-table';
import { LabError } from '../../src/core/errors';
import { presets } from '../../src/run/presets/presets';

/** Any valid value of a key. */
function anyValueOf(key: ConfigKey): fc.Arbitrary<unknown> {
  if (key.type === 'choice') return fc.constantFrom(...key.options);
  if (key.type === 'boolean') return fc.boolean();
  if (key.type === 'integer') return fc.integer({ min: key.min, max: key.max });
  return fc.double({ min: key.min, max: key.max, noNaN: true });
}
const partials = fc.record(Object.fromEntries(configNames.map((name) => [name, anyValueOf(configTable[name])])), {
  requiredKeys: [],
});

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof LabError) return `${thrown.code} ${thrown.parts.where}`;
    throw thrown;
  }
  return 'no error';
}

describe('config table', () => {
  test('every key has a label, and a default inside its own range', () => {
    expect(parsePartialConfig(defaultConfig)).toEqual({ values: defaultConfig, issues: [] });
    for (const name of configNames) expect(configTable[name].label).not.toBe('');
  });

  test('defaults follow the paper', () => {
    expect(defaultConfig).toMatchObject({
      keepTask: false,
      tailSteps: 2,
      maxCompactions: 3,
      advantage: 'paper',
      lossNorm: 'token',
      critic: 'separate',
      valueUpdates: 2,
      valuePretrain: 50,
      clip: 0.2,
      gamma: 1,
    });
  });

  test('every preset is valid', () => {
    for (const preset of Object.values(presets)) expect(() => parseConfig(preset.config)).not.toThrow();
  });
});

describe('parsing', () => {
  test('valid values survive, as themselves and as strings', () => {
    fc.assert(
      fc.property(partials, (partial) => {
        expect(parsePartialConfig(partial)).toEqual({ values: partial, issues: [] });
        const strings = Object.fromEntries(Object.entries(partial).map(([k, v]) => [k, String(v)]));
        const back = parsePartialConfig(strings);
        expect(back.issues).toEqual([]);
        for (const [k, v] of Object.entries(partial))
          expect((back.values as Record<string, unknown>)[k] === v).toBe(true);
      }),
    );
  });

  test('default ∪ non-default keys is the configuration', () => {
    fc.assert(
      fc.property(partials, (partial) => {
        const config = { ...defaultConfig, ...partial } as typeof defaultConfig;
        expect({ ...defaultConfig, ...nonDefault(config) }).toEqual(config);
      }),
    );
  });

  test('anything at all gives values inside the table or issues, never an exception', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (input) => {
        const { values } = parsePartialConfig(input);
        expect(parsePartialConfig(values).issues).toEqual([]);
      }),
    );
  });

  test('unknown keys, also those of Object.prototype, are named', () => {
    for (const key of ['windw', '__proto__', 'constructor', 'toString']) {
      const input = JSON.parse(`{"${key}": 1}`);
      const { issues } = parsePartialConfig(input);
      expect(issues.map((i) => i.code)).toEqual(['config.unknown-key']);
      expect(issues[0]!.what).toContain(key);
    }
  });

  test.each([
    [{ window: 64.5 }, 'config.bad-value window'],
    [{ window: Number.NaN }, 'config.bad-value window'],
    [{ window: '' }, 'config.bad-value window'],
    [{ window: 1e9 }, 'config.bad-value window'],
    [{ suite: 'games' }, 'config.bad-value suite'],
    [{ keepTask: 'yes' }, 'config.bad-value keepTask'],
    [{ window: 40 }, 'config.rule window'],
    [{ compactThreshold: 10 }, 'config.rule compactThreshold'],
    [{ advantage: 'outcome' }, 'config.rule groupSize'],
    [{ groupSize: 3 }, 'config.rule groupSize'],
    [{ difficultyMin: 9 }, 'config.rule difficultyMin'],
    [{ episodes: 1, minibatches: 2 }, 'config.rule minibatches'],
    [{ dModel: 40 }, 'config.rule dModel'],
    [[], 'config.not-an-object config'],
    [null, 'config.not-an-object config'],
  ])('%j → %s', (input, expected) => {
    expect(codeOf(() => parseConfig(input))).toBe(expected);
  });

  test('the reserve counts action, observation, request and summary', () => {
    const config = parseConfig({ actionCap: 5, observationCap: 11, summaryCap: 9, window: 64 });
    expect(smallestReserve(config)).toBe(26);
    expect(compactThreshold(config)).toBe(26);
    expect(compactThreshold({ ...config, compactThreshold: 30 })).toBe(30);
    expect(checkRules({ ...config, compactThreshold: 25 })).toHaveLength(1);
  });

  test('seeds', () => {
    expect(parseSeed('4294967295')).toBe(4294967295);
    for (const bad of ['', 'x', -1, 1.5, 2 ** 32, Number.NaN, null, {}])
      expect(codeOf(() => parseSeed(bad))).toBe('config.bad-seed seed');
  });
});

test('an infinity, as JSON writes 1e400, is named as what it is', () => {
  expect(parsePartialConfig(JSON.parse('{"iterations":1e400}')).issues[0]).toMatchObject({ got: 'Infinity' });
});
