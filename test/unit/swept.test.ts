/** Which experiments are curves: their setups are the values of one number. */
import { expect, test } from 'vitest';
import type { PartialConfig } from '../../src/core/config/config';
import type { Experiment } from '../../src/core/experiment/experiment';
import { sweepOf } from '../../src/core/experiment/swept';

const experiment = (...configs: PartialConfig[]): Experiment => ({
  version: 1,
  id: 'sample',
  title: 'Sample',
  about: '',
  seeds: 1,
  warmStarts: 1,
  shared: { lambda: 0.5, layers: 2 },
  setups: configs.map((config, i) => ({ id: `s${i}`, title: `S${i}`, config })),
  arms: [],
  claims: [],
});

test('setups come in the order of their values, those of shared settings and defaults among them', () => {
  expect(sweepOf(experiment({ lambda: 0.9 }, {}, { lambda: 0.1 }))).toMatchObject({
    key: 'lambda',
    steps: [
      { setup: { id: 's2' }, value: 0.1 },
      { setup: { id: 's1' }, value: 0.5 },
      { setup: { id: 's0' }, value: 0.9 },
    ],
  });
  // Equal to the shared value, so no difference; gamma is 1 by default.
  expect(sweepOf(experiment({ gamma: 0.9, layers: 2 }, {}, { gamma: 0.8 }))?.steps.map(({ value }) => value)).toEqual([
    0.8, 0.9, 1,
  ]);
});

test.each<[string, PartialConfig[]]>([
  ['two setups', [{ lambda: 0.1 }, { lambda: 0.2 }]],
  ['another setting differs as well', [{ lambda: 0.1 }, { lambda: 0.2 }, { lambda: 0.3, layers: 1 }]],
  ['two setups have one value', [{ lambda: 0.1 }, { lambda: 0.2 }, { lambda: 0.2 }]],
  ['what differs is no number', [{ advantage: 'paper' }, { advantage: 'stitched' }, { advantage: 'uncorrected' }]],
  ['nothing differs', [{}, {}, {}]],
])('no curve: %s', (_, configs) => {
  expect(sweepOf(experiment(...configs))).toBeNull();
});
