/** Random notebook documents. */
import fc from 'fast-check';
import type { PartialConfig } from '../../src/core/config/config';
import { type ConfigKey, type ConfigName, configTable } from '../../src/core/config/config-table';
import type { Cell } from '../../src/notebook/cells';
import type { NotebookDocument } from '../../src/notebook/document';

function anyValue(key: ConfigKey): fc.Arbitrary<unknown> {
  switch (key.type) {
    case 'choice':
      return fc.constantFrom(...key.options);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: key.min, max: key.max });
    default:
      // JSON has no −0: the document has none either.
      return fc.double({ min: key.min, max: key.max, noNaN: true }).map((x) => (x === 0 ? 0 : x));
  }
}

const configArbitrary = fc
  .subarray(Object.keys(configTable) as ConfigName[])
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, anyValue(configTable[name])]))))
  .map((values) => ({ ...values }) as PartialConfig);

/** Any string of code units: lone surrogates, control characters and emoji included. */
const anyText = (maxLength: number) =>
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength }).map((units) => String.fromCharCode(...units)),
  );

const cellArbitrary: fc.Arbitrary<Cell> = fc.oneof(
  fc.record({ kind: fc.constant('prose' as const), markdown: anyText(300) }),
  fc.record({
    kind: fc.constant('experiment' as const),
    preset: fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/),
    seed: fc.integer({ min: 0, max: 0xffffffff }),
    config: configArbitrary,
  }),
  fc.record({ kind: fc.constant('bench' as const), large: fc.boolean() }),
  fc.record({
    kind: fc.constant('comparison' as const),
    results: fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/),
    folded: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('contents' as const) }),
  fc.record({
    kind: fc.constant('claims' as const),
    results: fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,39}$/), { minLength: 1, maxLength: 8 }),
  }),
  fc.record({
    kind: fc.constant('episode' as const),
    recording: fc.stringMatching(/^([a-z][a-z0-9-]{0,39})?$/),
  }),
);

export const documentArbitrary: fc.Arbitrary<NotebookDocument> = fc.record({
  version: fc.constant(1 as const),
  title: anyText(60),
  cells: fc.array(cellArbitrary, { maxLength: 8 }),
});
