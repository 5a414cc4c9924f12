/** The first page of the notebook of results says what the files of results say: every number of its ten lines, in order. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseResults } from '../../src/core/experiment/result';
import { kindOf, verdictText } from '../../src/core/experiment/verdict-words';
import { type ClaimResult, decideClaims } from '../../src/core/experiment/verdicts';
import { headingOf } from '../../src/notebook/headings';
import { resultsDocument, tenLines } from '../../src/notebook/results';

type File = 'paper-table' | 'credit-and-lambda' | 'factor-large' | 'beyond-the-table';

const decided = new Map<string, ClaimResult[]>();
function decisions(file: string): ClaimResult[] {
  const all =
    decided.get(file) ??
    decideClaims(parseResults(JSON.parse(readFileSync(`public/results/${file}.json`, 'utf8')), file));
  decided.set(file, all);
  return all;
}
function claim(file: File, id: string, setup: string): ClaimResult {
  const one = decisions(file).find((result) => result.claim.id === id && result.setup === setup);
  if (!one) throw new Error(`${file} has no claim ${id} in ${setup}`);
  return one;
}

const small = ['terminal-small', 'code-small'];
const four = [...small, 'terminal-large', 'code-large'];

/** Differences in points, rounded as the page does. */
const points = (file: File, id: string, setups: readonly string[]) =>
  setups.map((setup) => (100 * claim(file, id, setup).mean!).toFixed(1));
const size = (text: string) => text.replace('-', '');

const lines = tenLines.split('\n').filter((line) => /^\d+\. /.test(line));
/** Numbers of a line without its own, with a plain minus sign. */
const numbersIn = (line: string): string[] =>
  line
    .replace(/^\d+\. /, '')
    .replaceAll('−', '-')
    .match(/[-+]?\d+(?:\.\d+)?/g) ?? [];
const plus = (text: string) => (text.startsWith('-') ? text : `+${text}`);

const tokens = (id: string, setup: string) => claim('paper-table', id, setup).mean!.toFixed(1);

const expected: readonly (() => string[])[] = [
  () => points('paper-table', 'rl-helps', four).map(plus),
  () => points('paper-table', 'beats-no-compaction', four),
  () => points('paper-table', 'beats-double-window', four),
  () => points('paper-table', 'train-summaries', four),
  () => [...points('beyond-the-table', 'writer-alone', small), ...points('beyond-the-table', 'actor-alone', small)],
  () => points('paper-table', 'token-loss', small),
  () => points('paper-table', 'cross-trajectory-gae', [...small, 'code-large']),
  () => {
    const [at95, at9, at8] = points('credit-and-lambda', 'factor', ['lambda-095', 'lambda-09', 'lambda-08']).map(size);
    return [at95!, '0.95', at9!, '0.9', at8!, '0.8'];
  },
  () => [tokens('summaries-grow', 'terminal-small'), tokens('summaries-grow', 'code-small')],
  () => [
    ...points('beyond-the-table', 'oracle-gap', small),
    ...points('beyond-the-table', 'compaction-beats-retry', small),
  ],
];

describe('the ten lines', () => {
  test('are ten', () => expect(lines).toHaveLength(10));

  test.each(expected.map((numbers, i) => [i + 1, numbers] as const))(
    'line %i has the numbers of the files',
    (n, numbers) => {
      expect(numbersIn(lines[n - 1]!)).toEqual(numbers());
    },
  );

  test('say what was decided', () => {
    const verdicts = (file: File, id: string, setups: readonly string[]) =>
      setups.map((setup) => claim(file, id, setup).finding);
    for (const id of ['rl-helps', 'beats-no-compaction', 'beats-double-window', 'train-summaries'])
      expect(verdicts('paper-table', id, four)).toEqual(['larger', 'larger', 'larger', 'larger']);
    expect(verdicts('paper-table', 'token-loss', four)).toEqual(['larger', 'larger', 'unresolved', 'unresolved']);
    expect(verdicts('paper-table', 'cross-trajectory-gae', [...small, 'code-large'])).toEqual([
      'equivalent',
      'equivalent',
      'smaller',
    ]);
    expect(claim('paper-table', 'cross-trajectory-gae', 'code-large').n).toBe(3);
    expect(claim('factor-large', 'cross-trajectory-gae', 'code-large')).toMatchObject({ n: 9, finding: 'unresolved' });
    expect(verdicts('credit-and-lambda', 'factor', ['lambda-095', 'lambda-09', 'lambda-08'])).toEqual([
      'smaller',
      'smaller',
      'smaller',
    ]);
    expect(verdicts('paper-table', 'summaries-grow', small)).toEqual(['larger', 'smaller']);
    for (const finding of verdicts('paper-table', 'masked-summaries-shrink', four)) expect(finding).not.toBe('larger');
    for (const id of ['oracle-gap', 'compaction-beats-retry'])
      expect(verdicts('beyond-the-table', id, small)).toEqual(['larger', 'larger']);
  });
});

test('the figure shows the files that the notebook unfolds below, in that order', () => {
  const first = resultsDocument.cells.find(({ kind }) => kind === 'claims');
  const unfolded = resultsDocument.cells.flatMap((cell) => (cell.kind === 'comparison' ? [cell.results] : []));
  expect(first).toEqual({ kind: 'claims', results: unfolded });
});

test('the contents list every part, and the figure', () => {
  expect(resultsDocument.cells.flatMap((cell) => headingOf(cell) ?? [])).toEqual([
    'Every claim in one figure',
    'In ten lines',
    'How to read it',
    'The paper’s comparison',
    'Where the cross-trajectory factor matters',
    'The same factor, more seeds',
    'What else one could do',
  ]);
});

test.each([
  ['# A *b* `c` $\\gamma$ [d](https://e.f) #', 'A b c \\gamma d'],
  ['\n\n### Three', 'Three'],
  ['#### Four', null],
  ['Text\n## Later', null],
  ['##', null],
  ['## **', null],
  [`# ${'x'.repeat(200)}`, 'x'.repeat(80)],
])('the heading of %j is %j', (markdown, heading) => {
  expect(headingOf({ kind: 'prose', markdown })).toBe(heading);
});

describe('docs/results.md', () => {
  const page = readFileSync('docs/results.md', 'utf8');

  test('says the same ten lines', () => {
    expect(page.split('\n').filter((line) => /^\d+\. /.test(line))).toEqual(lines);
  });

  test('leads to files that exist, from there and from each of its parts', () => {
    const parts = readdirSync('docs/results').filter((name) => name.endsWith('.md'));
    for (const path of ['docs/results.md', ...parts.map((name) => `docs/results/${name}`)])
      for (const [, to] of readFileSync(path, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g))
        expect(existsSync(join(dirname(path), to!)), `${path} → ${to}`).toBe(true);
    for (const name of parts) expect(page).toContain(`](results/${name})`);
  });

  test('shows a figure with the verdicts of the files, row by row', () => {
    const svg = readFileSync('docs/results/claims.svg', 'utf8');
    const drawn = [...svg.matchAll(/>((?:not )?reproduced|undecided)(?: \(([a-z ,]+)\))?</g)].map(
      ([, verdict, detail]) => verdict + (detail ? ` (${detail})` : ''),
    );
    const rows = resultsDocument.cells.flatMap((cell) => (cell.kind === 'comparison' ? decisions(cell.results) : []));
    const inPoints = (one: ClaimResult) => ['comp', 'single', 'long'].includes(one.claim.left.outcome);
    const paper = rows.filter((one) => kindOf(one.claim) === 'paper');
    // Axis by axis: points first, then the others in the order of the file.
    const ordered = [...paper.filter(inPoints), ...paper.filter((one) => !inPoints(one))];
    expect(drawn).toEqual(ordered.map(verdictText));
  });
});
