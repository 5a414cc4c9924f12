/** Vite plugin: formulas of shipped notebooks are drawn at build time, and KaTeX's fonts are shipped as woff2 only. */
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const id = 'virtual:shipped-formulas';
const source = fileURLToPath(new URL('../src/ui/shipped-formulas.ts', import.meta.url));

/** Every browser with WebGPU or ES2022 reads woff2. */
const otherFonts = /,url\([^)]*\) format\(["'](?:woff|truetype)["']\)/g;

/** @returns {import('vite').Plugin} */
export const formulas = () => ({
  name: 'shipped-formulas',
  enforce: 'pre',
  resolveId: (wanted) => (wanted === id ? `\0${id}` : undefined),
  async load(wanted) {
    if (wanted !== `\0${id}`) return undefined;
    const { module, dependencies } = await runnerImport(source);
    for (const file of dependencies) this.addWatchFile(file);
    const { shippedFormulas } = /** @type {typeof import('../src/ui/shipped-formulas')} */ (module);
    return `export const shippedFormulas = ${JSON.stringify(shippedFormulas)};`;
  },
  transform: (code, wanted) =>
    /\/katex(?:\.min)?\.css(?:\?|$)/.test(wanted) ? { code: code.replaceAll(otherFonts, ''), map: null } : undefined,
});
