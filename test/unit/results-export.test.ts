/** The paper's table as the page has it, and results as CSV. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { csv } from '../../src/core/csv';
import { resultsCsv } from '../../src/core/experiment/csv';
import { evalModes } from '../../src/core/experiment/experiment';
import { paperTables } from '../../src/core/experiment/paper';
import { fakeCell } from '../browser/ui/fake-results';

test('the paper’s numbers are those of the fixture, cell by cell', () => {
  const fixture = JSON.parse(readFileSync('test/fixtures/paper-tables.json', 'utf8')) as Record<
    string,
    Record<string, unknown>
  >;
  expect(fixture.columns).toEqual(['SWE', 'TB2'].flatMap((name) => evalModes.map((mode) => `${name} ${mode}`)));
  const tables = Object.entries(fixture).filter(([name]) => name.startsWith('GLM-'));
  const ours = paperTables.map(({ rows }) => rows.map(({ swe, tb2 }) => [...swe, ...tb2]));
  expect(ours).toEqual(tables.map(([, rows]) => Object.values(rows)));
  expect(tables.map(([name]) => name.split(' ')[0])).toEqual(paperTables.map(({ model }) => model.split(',')[0]));
});

test('CSV: fields are quoted where they must be, nothing is an empty field', () => {
  expect(csv([['a', 1, null], ['x,y', 'say "no"', 'two\nlines']])).toBe('a,1,\n"x,y","say ""no""","two\nlines"\n'); // biome-ignore format: two rows
});

test('results as CSV: a line a cell, columns by name, room for the longest list of compactions', () => {
  const [first, second] = [fakeCell('terminal-small', 'full', 1), fakeCell('terminal-small', 'base', 2)];
  const short = {
    ...second,
    evaluation: {
      ...second.evaluation,
      comp: { ...second.evaluation.comp, byCompactions: [{ solved: 1, episodes: 4 }], successNeedingCompaction: null },
    },
  };
  const [head, one, two, end] = resultsCsv([first, short])
    .split('\n')
    .map((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/));
  expect(end).toEqual(['']);
  const at = (line: string[] | undefined, column: string) => line?.[head!.indexOf(column)];
  expect(one).toHaveLength(head!.length);
  expect(two).toHaveLength(head!.length);
  expect(at(one, 'comp.solved.3')).toBe(String(first.evaluation.comp.byCompactions[3]!.solved));
  expect([at(two, 'comp.solved.0'), at(two, 'comp.solved.3'), at(two, 'comp.successNeedingCompaction')]).toEqual([
    '1',
    '',
    '',
  ]);
  expect(at(one, 'config')).toBe('"{""warmStart"":1}"');
  expect([at(one, 'arm'), at(two, 'seed'), at(two, 'elapsedMs')]).toEqual(['full', '2', '61000']);
});
