/**
 * Prose: Markdown with formulas between dollar signs. Input is untrusted (it comes out of links): raw HTML is shown as
 * text, links keep only harmless schemes, and the result is sanitised once more before it reaches the page.
 */
import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';
import { boundedLex } from './bounded-lexer';
import { turn } from './lab-element';

const SCHEMES = /^(?:https?:|mailto:|#|\.{0,2}\/)/i;
/**
 * The same for the sanitiser, which applies it to every attribute it does not know to be plain text (path data, `rel`): a
 * harmless scheme, or no scheme at all.
 */
const ATTRIBUTES = /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i;
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c] ?? c);

type Katex = typeof import('katex').default;
let katex: Katex | null = null;
const loadKatex = async (): Promise<void> => {
  // The style sheet belongs to the document, too: browsers ignore @font-face inside a shadow root.
  const [module] = await Promise.all([import('katex'), import('katex/dist/katex.min.css')]);
  katex ??= module.default;
};

let sheet: Promise<CSSStyleSheet> | null = null;

/** Styles of formulas for a shadow root; one sheet for all of them. */
export function formulaStyles(): Promise<CSSStyleSheet> {
  sheet ??= import('katex/dist/katex.min.css?inline').then(({ default: css }) => new CSSStyleSheet().replace(css));
  return sheet;
}

interface MathToken extends Tokens.Generic {
  readonly display: boolean;
  readonly text: string;
}

const renderMath = (token: Tokens.Generic): string => {
  const { text, display } = token as MathToken;
  return katex
    ? katex.renderToString(text, {
        displayMode: display,
        throwOnError: false,
        trust: false,
        strict: 'ignore',
        errorColor: 'var(--danger)', // the renderer's own red cannot be read on dark paper
        maxExpand: 200,
        maxSize: 20,
        output: 'htmlAndMathml',
      })
    : `<code>${escapeHtml(text)}</code>`;
};

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
    link({ href, tokens }: Tokens.Link) {
      const inner = this.parser.parseInline(tokens);
      if (!SCHEMES.test(href)) return inner;
      const away = /^https?:/i.test(href) ? ' target="_blank" rel="noopener noreferrer"' : '';
      return `<a href="${escapeHtml(href)}"${away}>${inner}</a>`;
    },
    // A remote picture would tell its host who reads the notebook, and the page allows none.
    image: ({ text }: Tokens.Image) => `<em>${escapeHtml(text)}</em>`,
  },
  extensions: [
    {
      name: 'displayMath',
      level: 'block',
      start: (src: string) => src.indexOf('$$'),
      tokenizer(src: string) {
        const match = /^\$\$([^$]{1,4000}?)\$\$(?:\n|$)/.exec(src);
        return match ? { type: 'displayMath', raw: match[0], text: match[1]?.trim() ?? '', display: true } : undefined;
      },
      renderer: renderMath,
    },
    {
      name: 'inlineMath',
      level: 'inline',
      start: (src: string) => src.indexOf('$'),
      tokenizer(src: string) {
        const match = /^\$\$?(?=\S)((?:[^$\n]|\n(?!\s*\n)){1,1000}?)(?<=\S)\$\$?(?!\d)/.exec(src);
        return match ? { type: 'inlineMath', raw: match[0], text: match[1] ?? '', display: false } : undefined;
      },
      renderer: renderMath,
    },
  ],
});

const hasMath = (tokens: readonly Token[]): boolean =>
  tokens.some(
    (t) =>
      t.type === 'inlineMath' ||
      t.type === 'displayMath' ||
      ('tokens' in t && t.tokens !== undefined && hasMath(t.tokens)) ||
      (t.type === 'list' && hasMath((t as Tokens.List).items)),
  );

/** Longest stretch of rendering before the page gets a turn, ms. */
const SLICE_MS = 10;

/**
 * @param markdown untrusted text
 * @returns a fragment safe to insert
 * @throws LabError prose.too-deep
 */
export async function renderMarkdown(markdown: string): Promise<DocumentFragment> {
  const tokens = boundedLex(markdown, marked.defaults);
  // Without the formula renderer a formula is shown as its source.
  if (hasMath(tokens)) await loadKatex().catch(() => {});
  const fragment = document.createDocumentFragment();
  let began = performance.now();
  // Block by block: a page of formulas takes longer than the page may stand still.
  for (const token of tokens) {
    fragment.append(sanitise(marked.parser(Object.assign([token], { links: tokens.links }))));
    if (performance.now() - began < SLICE_MS) continue;
    await turn();
    began = performance.now();
  }
  return fragment;
}

function sanitise(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, {
    USE_PROFILES: { html: true, mathMl: true, svg: true },
    ADD_ATTR: ['target'],
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'img', 'video', 'audio', 'iframe', 'object'],
    ALLOWED_URI_REGEXP: ATTRIBUTES,
    RETURN_DOM_FRAGMENT: true,
  });
}
