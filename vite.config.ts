import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { buildName, kernelVersion } from './.ci/build-name.mjs';
import { formulas } from './.ci/formulas.mjs';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** just-bash/browser imports node:zlib; the shim over fflate stands in for it in the browser. */
export const zlibShim = path('src/env/zlib-shim.ts');

/** The static site. Relative base and ES workers: it runs under any sub-path of any plain file host. */
export default defineConfig({
  define: { __BUILD__: JSON.stringify(buildName()), __KERNELS__: JSON.stringify(kernelVersion()) },
  base: './',
  publicDir: 'public',
  plugins: [formulas()],
  resolve: { alias: existsSync(zlibShim) ? { 'node:zlib': zlibShim } : {} },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    manifest: true, // test/e2e/weight.test.ts reads what loads what
    target: 'es2022',
    modulePreload: { polyfill: false },
    // The large chunks (just-bash, tfjs, Plot, xterm) are loaded lazily; sizes are reported by the build.
    chunkSizeWarningLimit: 2500,
  },
  server: { host: 'localhost', port: 5173 },
  preview: { host: '127.0.0.1', port: 4173 },
});
