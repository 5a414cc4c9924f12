import { expect, test } from 'vitest';
import type { NotebookDocument } from '../../src/notebook/document';
import { renderMarkdown } from '../../src/ui/markdown';
import { homeDocument, shippedNotebooks } from '../../src/ui/shipped-notebooks';

const katexLoaded = () =>
  performance
    .getEntriesByType('resource')
    .some(({ name }) => /katex(?!.*\.css)(?!.*woff2)/.test(new URL(name).pathname));

async function drawn(markdown: string): Promise<HTMLElement> {
  const host = document.createElement('div');
  host.append(await renderMarkdown(markdown));
  return host;
}

const prose = ({ cells }: NotebookDocument) => cells.flatMap((cell) => (cell.kind === 'prose' ? [cell.markdown] : []));

// One test: whether KaTeX has been loaded is a matter of order.
test('formulas of shipped notebooks are drawn without KaTeX; it comes with the first other formula', async () => {
  let formulas = 0;
  for (const document of [homeDocument, ...shippedNotebooks.map((shipped) => shipped.document)])
    for (const markdown of prose(document)) {
      const host = await drawn(markdown);
      const here = host.querySelectorAll('.katex');
      formulas += here.length;
      for (const formula of here) expect(formula.querySelector('math')).not.toBe(null);
      expect(host.textContent).not.toContain('$');
    }
  expect(formulas).toBeGreaterThan(30);
  expect(katexLoaded()).toBe(false);
  expect([...document.styleSheets].some(({ href }) => href?.includes('katex'))).toBe(true);

  const other = await drawn(String.raw`$\frac{17}{q}$ and $constructor$ beside $\gamma\lambda$`);
  expect(other.querySelectorAll('.katex')).toHaveLength(3);
  expect(other.querySelector('.mfrac')).not.toBe(null);
  expect(katexLoaded()).toBe(true);
});
