/** How deep a formula nests is known without calling itself. */
import { expect, test } from 'vitest';
import { limits } from '../../src/notebook/limits';
import { depthFault, formulaDepth } from '../../src/ui/formula-depth';

test.each([
  ['x', 0],
  ['\\gamma\\lambda\\delta', 0],
  ['x^{2}+y^{2}', 1],
  ['\\frac{a}{\\sqrt{b}}', 2],
  ['\\{\\{\\{x\\}\\}\\}', 0],
  ['\\\\{x}', 1],
  ['\\left(\\left[x\\right]\\right)', 2],
  ['\\leftarrow\\rightarrow\\leftarrow', 0],
  ['\\begin{matrix}{a}\\end{matrix}', 2],
  ['}}}{x', 1],
])('%s: %i', (text, depth) => expect(formulaDepth(text)).toBe(depth));

test('the limit itself is drawn, one more is not, nor is what is never closed', () => {
  const nested = (n: number) => `${'{'.repeat(n)}x${'}'.repeat(n)}`;
  expect(depthFault(nested(limits.formulaDepth))).toBe(null);
  expect(depthFault(nested(limits.formulaDepth + 1))).toContain(`at most ${limits.formulaDepth} groups`);
  for (const text of ['{'.repeat(4000), 'x^{'.repeat(1000), '\\left('.repeat(500), '\\begin{array}'.repeat(300)])
    expect(depthFault(text)).toContain('too deeply');
});
