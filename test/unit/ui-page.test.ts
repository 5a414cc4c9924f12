import { describe, expect, test } from 'vitest';
import { configNames, parseConfig } from '../../src/core/config/config';
import type { NotebookDocument } from '../../src/notebook/document';
import { presets } from '../../src/run/presets/presets';
import { chartSpecs, formatValue, toCsv, valueAt } from '../../src/ui/charts/chart-specs';
import {
  cellConfig,
  mainParameters,
  parameterGroups,
  sameConfig,
  withParameter,
} from '../../src/ui/experiment-parameters';
import { bytes, compact, duration, percent } from '../../src/ui/format';
import { NotebookModel } from '../../src/ui/notebook-model';
import { fakeRecord } from '../browser/ui/fake-run';

const document: NotebookDocument = {
  version: 1,
  title: 'T',
  cells: [
    { kind: 'prose', markdown: 'a' },
    { kind: 'experiment', preset: 'quick', seed: 1, config: {} },
    { kind: 'prose', markdown: 'b' },
  ],
};
const texts = (model: NotebookModel) => model.items.map(({ cell }) => (cell.kind === 'prose' ? cell.markdown : 'E'));

describe('editing a notebook', () => {
  test('insert, move, delete and undo; the given document is never changed', () => {
    const frozen = structuredClone(document);
    const model = new NotebookModel(document);
    const [first, second] = model.items;
    expect(model.move(first!.key, -1)).toBe(false);
    expect(model.move(first!.key, 1)).toBe(true);
    expect(texts(model)).toEqual(['E', 'a', 'b']);
    model.remove(second!.key);
    expect(texts(model)).toEqual(['a', 'b']);
    expect(model.undoRemove()).toBe(second!.key);
    expect(texts(model)).toEqual(['E', 'a', 'b']);
    expect(model.undoRemove()).toBe(null);
    model.insert(3, 'prose');
    expect(texts(model)).toEqual(['E', 'a', 'b', '']);
    expect(document).toEqual(frozen);
  });

  test('keys stay with their cells', () => {
    const model = new NotebookModel(document);
    const keys = new Map(model.items.map((item) => [item.key, item.cell]));
    model.move(model.items[2]!.key, -1);
    for (const { key, cell } of model.items) expect(keys.get(key)).toBe(cell);
  });
});

describe('parameters of a cell', () => {
  const cell = { kind: 'experiment', preset: 'quick', seed: 1, config: {} } as const;

  test('only what differs from the preset is kept', () => {
    const changed = withParameter(cell, presets.quick, 'window', 96);
    expect(changed.config).toEqual({ window: 96 });
    const window = cellConfig(cell, presets.quick).window;
    expect(withParameter(changed, presets.quick, 'window', window).config).toEqual({});
  });

  test('a run is recognised by its configuration', () => {
    const stored = parseConfig(presets.quick.config);
    expect(sameConfig(cellConfig(cell, presets.quick), stored)).toBe(true);
    expect(sameConfig(cellConfig(withParameter(cell, presets.quick, 'gamma', 0.9), presets.quick), stored)).toBe(false);
  });

  test('every key of the table has a place, and the main ones are keys', () => {
    expect(parameterGroups.flatMap(([, names]) => names).sort()).toEqual([...configNames].sort());
    expect(configNames).toEqual(expect.arrayContaining([...mainParameters]));
  });
});

describe('curves', () => {
  const config = parseConfig(presets.quick.config);
  const records = Array.from({ length: 7 }, (_, i) => fakeRecord(i + 1, config));

  test('the file has a row per iteration and as many fields in each', () => {
    const rows = toCsv(records).trimEnd().split('\n');
    expect(rows).toHaveLength(8);
    const widths = new Set(rows.map((row) => row.split(',').length));
    expect(widths.size).toBe(1);
    // Full precision: a row can be parsed back.
    expect(Number(rows[3]!.split(',')[2])).toBe(records[2]!.trainSuccess);
    // Twice the window is evaluated once, at the end.
    const last = fakeRecord(config.iterations, config);
    const column = rows[0]!.split(',').indexOf('evalLong');
    const field = (record: typeof last) => toCsv([record]).trimEnd().split('\n')[1]!.split(',')[column];
    expect([field(records[0]!), field(last)]).toEqual(['', '0.3']);
  });

  test('between evaluations the last one counts', () => {
    const evaluated = chartSpecs[0]!.series.find((s) => s.id === 'evalComp')!;
    expect(evaluated.value(records[6]!)).toBe(null);
    expect(valueAt(evaluated, records, 6)).toBe(records[4]!.evalComp!.success);
    expect(valueAt(evaluated, [], 0)).toBe(null);
  });

  test('every chart defines its metric and its unit', () => {
    for (const spec of chartSpecs) {
      expect(spec.definition.length, spec.id).toBeGreaterThan(30);
      expect(spec.unit, spec.id).not.toBe('');
    }
  });

  test('small shares keep their digits', () => {
    const clip = chartSpecs.find((s) => s.id === 'clipFraction')!;
    expect(formatValue(clip, 0.0123)).toBe('1.2\u202f%');
    expect(formatValue(clip, 0.5)).toBe('50\u202f%');
    expect(formatValue(clip, null)).toBe('–');
  });
});

test('numbers as a person reads them', () => {
  expect([0, 59_400, 61_000, 600_000, 3_900_000].map(duration)).toEqual([
    '0\u202fs',
    '59\u202fs',
    '1\u202fmin 1\u202fs',
    '10\u202fmin',
    '1\u202fh 5\u202fmin',
  ]);
  expect([0, 999, 1000, 3_449, 12_600_000].map(bytes)).toEqual([
    '0\u202fB',
    '999\u202fB',
    '1.0\u202fkB',
    '3.4\u202fkB',
    '13\u202fMB',
  ]);
  expect([0, 0.00424, 12.345, 1_234_567, 1e-6].map((v) => compact(v))).toEqual([
    '0',
    '0.00424',
    '12.3',
    '1.23\u202fM',
    '1.0e-6',
  ]);
  expect(percent(0.875)).toBe('88\u202f%');
});
