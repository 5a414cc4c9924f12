import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumFlags, findChromium } from './.ci/chromium.mjs';
import site from './vite.config.ts'; // with extension: Vite loads its configuration natively

/** Unit: pure code in Node. Gpu: kernels and engine on Dawn. Browser: modules inside Chromium. E2e: the built site. Firefox: its walk there. */
export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], environment: 'node', testTimeout: 60_000 },
      },
      {
        // tfjs' Node bundles would be a second copy beside the modules that its gradients live in.
        resolve: { alias: [{ find: /^(@tensorflow\/tfjs-[a-z-]+)$/, replacement: '$1/dist/index.js' }] },
        test: {
          name: 'gpu',
          include: ['test/gpu/**/*.test.ts'],
          environment: 'node',
          // tfjs' deep imports (its gradients) are not loadable by Node as they are; one inlined copy for all of them.
          server: { deps: { inline: [/@tensorflow\//] } },
          pool: 'forks', // Dawn must not share a process with other tests' instances
          maxWorkers: 2,
          // A first dispatch compiles its shader on the processor: seconds when idle, a minute on a crowded machine.
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        plugins: site.plugins,
        resolve: site.resolve,
        worker: site.worker,
        // Found before the first test runs: an import found later would reload the page in mid-test.
        optimizeDeps: { entries: ['test/browser/**/*.test.ts', 'src/{ui,run,store,notebook,env}/**/*.ts'] },
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: { executablePath: findChromium(), args: chromiumFlags() } }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          environment: 'node',
          globalSetup: ['test/e2e/global-setup.ts'],
          maxWorkers: 1, // one Chromium at a time: software WebGPU takes every core
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'firefox',
          include: ['test/firefox/**/*.test.ts'],
          environment: 'node',
          globalSetup: ['test/e2e/global-setup.ts'],
          maxWorkers: 1,
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
