/** KaTeX's style sheet, loaded once as a file: for the document, whose fonts count, and for shadow roots. */
import address from 'katex/dist/katex.min.css?url';

let sheet: Promise<CSSStyleSheet> | null = null;

/** Styles of formulas for a shadow root; one sheet for all of them. @throws Error when the file cannot be loaded */
export function formulaStyles(): Promise<CSSStyleSheet> {
  sheet ??= load().catch((thrown) => {
    sheet = null;
    throw thrown;
  });
  return sheet;
}

async function load(): Promise<CSSStyleSheet> {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = address;
  await new Promise<void>((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = () => reject(new Error(`the style sheet of formulas could not be loaded: ${link.href}`));
    document.head.append(link);
  });
  // Browsers ignore @font-face inside a shadow root; the document has it.
  const rules = [...(link.sheet?.cssRules ?? [])].filter((rule) => !(rule instanceof CSSFontFaceRule));
  return new CSSStyleSheet().replace(rules.map((rule) => rule.cssText).join('\n'));
}
