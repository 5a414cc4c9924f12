/** Documents: defaults, bounds, files, and the home page. */
import fc from 'fast-check';
import katex from 'katex';
import { marked } from 'marked';
import { describe, expect, test } from 'vitest';
import { errorParts, type LabErrorParts } from '../../src/core/errors';
import { blankCell, cellKinds } from '../../src/notebook/cells';
import { documentFromFile, documentToFile, parseDocument } from '../../src/notebook/document';
import { homeDocument } from '../../src/notebook/home';
import { limits } from '../../src/notebook/limits';
import { resultsDocument } from '../../src/notebook/results';
import { presets } from '../../src/run/presets/presets';
import { documentArbitrary } from './notebook-samples';

function failure(work: () => unknown): LabErrorParts {
  try {
    work();
  } catch (error) {
    return errorParts(error);
  }
  throw new Error('nothing was thrown');
}

describe('documents', () => {
  test('absent keys take their defaults', () => {
    expect(parseDocument({ version: 1 })).toEqual({ version: 1, title: '', cells: [] });
    expect(parseDocument({ version: 1, cells: [{ kind: 'experiment' }, { kind: 'prose' }] }).cells).toEqual([
      { kind: 'experiment', preset: 'quick', seed: 1, config: {} },
      { kind: 'prose', markdown: '' },
    ]);
  });

  test('every kind of cell has a blank one that is valid', () => {
    const cells = cellKinds.map(blankCell);
    expect(parseDocument({ version: 1, cells }).cells).toEqual(cells);
  });

  test('an error names the place, expected and got, and its code says where the document came from', () => {
    const cells = [{ kind: 'prose' }, { kind: 'experiment', config: { window: 5 } }];
    expect(failure(() => parseDocument({ version: 1, cells }, 'draft'))).toMatchObject({
      code: 'draft.invalid',
      where: 'cells.1.config.window',
      expected: 'a whole number from 24 to 1024',
      got: '5',
    });
    expect(failure(() => parseDocument({ version: 1, cells: [{ kind: 'prose', html: '' }] }))).toMatchObject({
      where: 'cells.0.html',
      expected: 'no such key',
    });
    expect(failure(() => parseDocument({ version: 2 }, 'file')).code).toBe('file.version');
  });

  test('bounds hold exactly', () => {
    const prose = (chars: number) => ({ kind: 'prose', markdown: 'x'.repeat(chars) });
    const of = (...cells: unknown[]) => ({ version: 1, cells });
    expect(parseDocument(of(prose(limits.proseChars))).cells).toHaveLength(1);
    expect(failure(() => parseDocument(of(prose(limits.proseChars + 1)))).where).toBe('cells.0.markdown');
    const many = Array.from({ length: limits.cells }, () => prose(1));
    expect(parseDocument(of(...many)).cells).toHaveLength(limits.cells);
    expect(failure(() => parseDocument(of(...many, prose(1)))).where).toBe('cells');
    const full = Array.from({ length: limits.totalProseChars / limits.proseChars }, () => prose(limits.proseChars));
    expect(parseDocument(of(...full)).cells).toHaveLength(full.length);
    expect(failure(() => parseDocument(of(...full, prose(1)))).expected).toContain('characters of prose');
    expect(parseDocument({ version: 1, title: 'x'.repeat(limits.titleChars) }).title).toHaveLength(limits.titleChars);
    expect(failure(() => parseDocument({ version: 1, title: 'x'.repeat(limits.titleChars + 1) })).where).toBe('title');
  });

  test('a configuration has no −0, so links give back what they took', () => {
    const cells = [{ kind: 'experiment', seed: -0, config: { gamma: -0 } }];
    expect(parseDocument({ version: 1, cells }).cells[0]).toEqual({
      kind: 'experiment',
      preset: 'quick',
      seed: 0,
      config: { gamma: 0 },
    });
  });
});

describe('notebook files', () => {
  test('read gives what was written', () => {
    fc.assert(
      fc.property(documentArbitrary, (document) => {
        expect(documentFromFile(documentToFile(document))).toEqual(document);
      }),
      { seed: 1, numRuns: 100 },
    );
  });

  test('other files are refused', () => {
    expect(failure(() => documentFromFile('PK\u0003\u0004')).code).toBe('file.invalid');
    expect(failure(() => documentFromFile('{}'))).toMatchObject({ code: 'file.invalid', where: 'version' });
    expect(failure(() => documentFromFile(' '.repeat(3e6))).code).toBe('file.too-large');
  });
});

test('the notebook of results is valid, and shows results', () => {
  expect(parseDocument(resultsDocument)).toEqual(resultsDocument);
  expect(resultsDocument.cells).toContainEqual({ kind: 'comparison', results: 'paper-table', folded: true });
});

describe('the home page', () => {
  const prose = homeDocument.cells.flatMap((cell) => (cell.kind === 'prose' ? [cell.markdown] : []));

  test('is a valid document with an experiment of a preset that exists', () => {
    expect(parseDocument(homeDocument)).toEqual(homeDocument);
    const [experiment] = homeDocument.cells.filter((cell) => cell.kind === 'experiment');
    expect(Object.keys(presets)).toContain(experiment?.preset);
  });

  test('has formulas that KaTeX reads, and no dollar sign out of a pair', () => {
    const formulas = prose.flatMap((text) =>
      [...text.matchAll(/\$\$([^$]+)\$\$|\$([^$]+)\$/g)].map((m) => m[1] ?? m[2]!),
    );
    expect(formulas.length).toBeGreaterThan(15);
    for (const formula of formulas) expect(katex.renderToString(formula, { throwOnError: true })).toContain('katex');
    for (const text of prose) expect(text.replaceAll(/\$\$[^$]+\$\$|\$[^$]+\$/g, '')).not.toContain('$');
  });

  test('has no raw HTML, and links to https or to a notebook of the page only', () => {
    for (const text of prose) {
      const withoutFormulas = text.replaceAll(/\$\$[^$]+\$\$|\$[^$]+\$/g, 'x');
      for (const token of marked.lexer(withoutFormulas)) {
        marked.walkTokens([token], (t) => {
          expect(t.type).not.toBe('html');
          if (t.type === 'link') expect(t.href).toMatch(/^(https:\/\/|#what-reproduces$)/);
        });
      }
    }
  });
});
