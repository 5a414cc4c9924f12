/**
 * Prose: Markdown with formulas between dollar signs. Input is untrusted (it comes out of links): raw HTML is shown as
 * text, links keep only harmless schemes, and the result is sanitised once more before it reaches the page.
 */
import DOMPurify from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { boundedLex } from './bounded-lexer';
import { depthFault } from './formula-depth';
import { formulaStyles } from './formula-styles';
import { type Formula, formulaExtensions, formulaKey, formulaOptions, formulasIn } from './formulas';
import { turn } from './lab-element';
import { LazyPart } from './lazy-part';

const SCHEMES = /^(?:https?:|mailto:|#|\.{0,2}\/)/i;
/**
 * The same for the sanitiser, which applies it to every attribute it does not know to be plain text (path data, `rel`): a
 * harmless scheme, or no scheme at all.
 */
const ATTRIBUTES = /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i;
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c] ?? c);

/** HTML of formulas by key, drawn when the site was built; and the styles that every formula needs. */
export const formulasPart = new LazyPart<ReadonlyMap<string, string>>('The formulas', async () => {
  const [{ shippedFormulas }] = await Promise.all([import('virtual:shipped-formulas'), formulaStyles()]);
  return new Map(Object.entries(shippedFormulas));
});
export const katexPart = new LazyPart('What draws these formulas', async () => (await import('katex')).default);

let shipped: ReadonlyMap<string, string> | null = null;
let katex: typeof import('katex').default | null = null;

/** Loads what these formulas need: for those of the notebooks that the page comes with, that is not KaTeX. */
async function prepare(formulas: readonly Formula[]): Promise<void> {
  const map = await formulasPart.get();
  if (map && !formulas.every((formula) => map.has(formulaKey(formula)))) katex = await katexPart.get();
  shipped = map;
}

/** The part for want of which a formula of this content is shown as its source; null when all are drawn. */
export function missingPart(content: DocumentFragment): LazyPart<unknown> | null {
  if (!content.querySelector('code.formula')) return null;
  return formulasPart.loaded ? katexPart : formulasPart;
}

function renderFormula(formula: Formula): string {
  const ready = shipped?.get(formulaKey(formula));
  if (ready !== undefined) return ready;
  const fault = depthFault(formula.text);
  if (fault) return notDrawn(formula, fault);
  if (!shipped || !katex) return `<code class="formula">${escapeHtml(formula.text)}</code>`;
  try {
    return katex.renderToString(formula.text, formulaOptions(formula));
  } catch (thrown) {
    // What is wrong with a formula KaTeX draws in red itself, but not that macros of the formula made groups without end.
    return notDrawn(formula, thrown instanceof RangeError ? 'what its macros make nests too deeply' : String(thrown));
  }
}

/** Stands in the place of one formula; the text around it is drawn. */
function notDrawn({ text }: Formula, why: string): string {
  const excerpt = text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS)} …` : text;
  return `<span class="formula-fault">This formula is not drawn: ${escapeHtml(why)}. It begins with <code>${escapeHtml(excerpt)}</code></span>`;
}

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
  extensions: formulaExtensions(renderFormula),
});

/** Of a formula that is not drawn. */
const EXCERPT_CHARS = 40;
/** Longest stretch of rendering before the page gets a turn, ms. */
const SLICE_MS = 10;

/**
 * @param markdown untrusted text
 * @returns a fragment safe to insert; for want of a part (`missingPart`) a formula is its source
 * @throws LabError prose.too-deep
 */
export async function renderMarkdown(markdown: string): Promise<DocumentFragment> {
  const tokens = boundedLex(markdown, marked.defaults);
  const formulas = formulasIn(tokens);
  if (formulas.length > 0) await prepare(formulas);
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
