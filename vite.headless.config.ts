import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { buildName, kernelVersion } from './.ci/build-name.mjs';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Node entries, by the name of the built file. */
const entries: Record<string, string> = {
  lab: 'src/headless/main.ts',
  bench: 'src/bench/main.ts',
  'terminal-worker-node': 'src/env/terminal-worker-node.ts',
};

/**
 * The command line. Every file lands in one flat folder, so `new URL('./terminal-worker-node.js', import.meta.url)`
 * finds the worker from whichever chunk asks. `.ci/launch.mjs` builds each state of the sources into a folder of its
 * own, so that a long run never sees its files replaced.
 */
export default defineConfig({
  define: { __BUILD__: JSON.stringify(buildName()), __KERNELS__: JSON.stringify(kernelVersion()) },
  publicDir: false,
  // tfjs' packages are not loadable by Node as they are (extensionless deep imports); `webgpu` brings a native library.
  ssr: { noExternal: [/^@tensorflow\//], external: ['webgpu'], target: 'node' },
  build: {
    ssr: true,
    outDir: 'dist-node',
    target: 'node20',
    minify: false,
    sourcemap: true,
    emptyOutDir: true,
    rolldownOptions: {
      input: Object.fromEntries(
        Object.entries(entries)
          .map(([name, source]) => [name, path(source)] as const)
          .filter(([, source]) => existsSync(source)),
      ),
      output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
});
