/**
 * Formulas between dollar signs in Markdown: how they are found and how KaTeX draws them. Without the DOM and without KaTeX,
 * for the page and for the build alike: the build draws the formulas of the notebooks that the page comes with.
 */
import type { KatexOptions } from 'katex';
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from 'marked';

export interface Formula {
  readonly display: boolean;
  readonly text: string;
}

const displayMath: TokenizerAndRendererExtension = {
  name: 'displayMath',
  level: 'block',
  start: (src: string) => src.indexOf('$$'),
  tokenizer(src: string) {
    const match = /^\$\$([^$]{1,4000}?)\$\$(?:\n|$)/.exec(src);
    return match ? { type: 'displayMath', raw: match[0], text: match[1]?.trim() ?? '', display: true } : undefined;
  },
};

const inlineMath: TokenizerAndRendererExtension = {
  name: 'inlineMath',
  level: 'inline',
  start: (src: string) => src.indexOf('$'),
  tokenizer(src: string) {
    const match = /^\$\$?(?=\S)((?:[^$\n]|\n(?!\s*\n)){1,1000}?)(?<=\S)\$\$?(?!\d)/.exec(src);
    return match ? { type: 'inlineMath', raw: match[0], text: match[1] ?? '', display: false } : undefined;
  },
};

/** For `Marked`: formulas as tokens, drawn by `render`. */
export const formulaExtensions = (render: (formula: Formula) => string): TokenizerAndRendererExtension[] =>
  [displayMath, inlineMath].map((extension) => ({
    ...extension,
    renderer: (token: Tokens.Generic) => render(token as Tokens.Generic & Formula),
  }));

/** Every formula among the tokens, in order. */
export function formulasIn(tokens: readonly Token[]): Formula[] {
  const found: Formula[] = [];
  new Marked().walkTokens([...tokens], (token) => {
    if (token.type === 'inlineMath' || token.type === 'displayMath') found.push(token as Tokens.Generic & Formula);
  });
  return found;
}

/** Two formulas with one key are drawn alike. */
export const formulaKey = ({ display, text }: Formula): string => (display ? '$$' : '$') + text;

/** Options for text that may come out of a link. */
export const formulaOptions = ({ display }: Formula): KatexOptions => ({
  displayMode: display,
  throwOnError: false,
  trust: false,
  strict: 'ignore',
  errorColor: 'var(--danger)', // the renderer's own red cannot be read on dark paper
  maxExpand: 200,
  maxSize: 20,
  output: 'htmlAndMathml',
});
