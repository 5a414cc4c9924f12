/** The figure of all claims: its rows, its axes, and where its lines stand. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseResults } from '../../src/core/experiment/result';
import { columnsOf, forestLayout, LINE } from '../../src/ui/charts/forest-layout';
import { Comparison } from '../../src/ui/comparison/comparison';
import { forestPanels, forestRows, shortTitle } from '../../src/ui/comparison/forest-rows';

const files = ['paper-table', 'credit-and-lambda', 'factor-large', 'beyond-the-table'];
const comparisons = files.map(
  (name) => new Comparison(parseResults(JSON.parse(readFileSync(`public/results/${name}.json`, 'utf8')), name)),
);
const rows = forestRows(comparisons);

describe('rows', () => {
  test('are all decided claims, once each, with the numbers of the claim list', () => {
    expect(rows.map(({ decided }) => decided)).toEqual(comparisons.flatMap(({ claims }) => claims));
    for (const { decided, mean } of rows)
      expect(mean).toBe(
        decided.claim.left.outcome === decided.claim.right.outcome &&
          /summary|comp.+ns|turns/.test(decided.claim.left.outcome)
          ? decided.mean
          : 100 * decided.mean!,
      );
  });

  test('tell suites and sizes apart', () => {
    const looks = new Map(rows.map(({ setup, look }) => [setup.id, `${look.suite} ${look.larger}`]));
    expect(looks.get('terminal-small')).toBe('0 false');
    expect(looks.get('code-small')).toBe('1 false');
    expect(looks.get('terminal-large')).toBe('0 true');
    expect(looks.get('code-large')).toBe('1 true');
    expect(looks.get('lambda-06')).toBe('1 false');
  });

  test('name setups shortly', () => {
    const titles = new Map(rows.map(({ setup }) => [setup.id, shortTitle(setup)]));
    expect(titles.get('terminal-large')).toBe('Terminal, larger');
    expect(titles.get('lambda-098')).toBe('λ = 0.98');
  });
});

describe.each(['paper', 'question'] as const)('axes of a %s', (kind) => {
  const panels = forestPanels(rows, kind, 0.02);

  test('hold every interval, with zero at the same place', () => {
    const zeros = panels.map(({ domain: [low, high] }) => -low / (high - low));
    for (const zero of zeros) expect(zero).toBeCloseTo(zeros[0]!, 12);
    for (const { rows: own, domain } of panels)
      for (const { low, high } of own) {
        expect(low).toBeGreaterThanOrEqual(domain[0]);
        expect(high).toBeLessThanOrEqual(domain[1]);
      }
  });

  test('have one unit each', () => {
    expect(panels.map(({ unit }) => unit)).toEqual(
      kind === 'paper' ? ['points', 'tokens', 'compactions', 'turns'] : ['points', 'tokens'],
    );
    expect(panels.map(({ margin }) => margin)).toEqual([2, ...panels.slice(1).map(() => null)]);
  });

  test.each([358, 1088])('lines do not overlap at %i px', (width) => {
    for (const { rows: own } of panels) {
      const layout = forestLayout(own, width);
      expect(layout.rows.map(({ row }) => row)).toEqual(own);
      // Beside their rows claims have a column of their own; above them all lines share one.
      const text = [...layout.experiments, ...layout.claims];
      const columns = columnsOf(width).wide ? [text, layout.rows] : [[...text, ...layout.rows]];
      for (const column of columns) {
        const places = column.map(({ y }) => y).sort((a, b) => a - b);
        for (const [i, y] of places.entries()) expect(y - (places[i - 1] ?? -LINE)).toBeGreaterThanOrEqual(LINE - 1e-9);
        expect(places.at(-1)!).toBeLessThan(layout.height);
      }
    }
  });
});
