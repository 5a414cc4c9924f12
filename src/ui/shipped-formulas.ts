/**
 * Run by the build, not by the page: the HTML of every formula in the notebooks that the page comes with, by key. The page
 * gets the result as `virtual:shipped-formulas` and loads KaTeX, 77 kB, only for a formula that is not among them.
 */
import katex from 'katex';
import { Marked } from 'marked';
import { formulaExtensions, formulaKey, formulaOptions, formulasIn } from './formulas';
import { homeDocument, shippedNotebooks } from './shipped-notebooks';

const marked = new Marked({ gfm: true, extensions: formulaExtensions(() => '') });

export const shippedFormulas: Readonly<Record<string, string>> = Object.fromEntries(
  [homeDocument, ...shippedNotebooks.map(({ document }) => document)]
    .flatMap(({ cells }) => cells)
    .flatMap((cell) => (cell.kind === 'prose' ? formulasIn(marked.lexer(cell.markdown)) : []))
    .map((formula) => [formulaKey(formula), katex.renderToString(formula.text, formulaOptions(formula))]),
);
