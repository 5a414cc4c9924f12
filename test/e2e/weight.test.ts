/** How much JavaScript a first visit loads before one can interact, gzip bytes, by the build's own manifest and by a browser. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, inject, test } from 'vitest';
import { open } from './notebook-page';

const LIMIT = 200_000;
/** What the home page loads by itself: the entry, and the modules that it imports() to draw the cells of its notebook. */
const HOME = [
  'index.html',
  'virtual:shipped-formulas',
  'src/core/recording/recording.ts',
  'src/core/recording/run-result.ts',
];

type Manifest = Record<string, { file: string; imports?: string[]; dynamicImports?: string[] }>;

/** Files of these modules and of all that they import statically. @throws Error when the manifest has no such module */
function closure(names: readonly string[]): Set<string> {
  const manifest = JSON.parse(readFileSync('dist/.vite/manifest.json', 'utf8')) as Manifest;
  const files = new Set<string>();
  const visit = (name: string): void => {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`the build's manifest has no ${name}: it has ${Object.keys(manifest).join(', ')}`);
    if (files.has(chunk.file)) return;
    files.add(chunk.file);
    chunk.imports?.forEach(visit);
  };
  names.forEach(visit);
  return files;
}

const sizeOf = (file: string): number => gzipSync(readFileSync(`dist/${file}`)).length;

test('a first visit loads at most 200 kB of JavaScript before one can interact', () => {
  const sizes = [...closure(HOME)].map((file) => ({ file, size: sizeOf(file) })).sort((a, b) => b.size - a.size);
  const total = sizes.reduce((sum, { size }) => sum + size, 0);
  // Every part is there: a manifest that says nothing would weigh nothing.
  expect(total).toBeGreaterThan(50_000);
  const largest = sizes.map(({ file, size }) => `${file} ${size}`).join(', ');
  console.log(`JavaScript before one can interact: ${total} bytes (gzip): ${largest}`);
  expect(total, `above the limit; largest first: ${largest}`).toBeLessThanOrEqual(LIMIT);
});

test('a fresh home page asks for no other JavaScript until its visitor gives a sign; then the trainer comes', async () => {
  const asked = new Set<string>();
  const { page, problems, close } = await open({
    before: async (fresh) => {
      fresh.on('request', (request) => {
        const path = request.url().split('#')[0]!;
        if (path.endsWith('.js')) asked.add(path.slice(inject('siteUrl').length));
      });
      // The page's own patience is held: however slow this machine, nothing but a sign may start the trainer.
      await fresh.addInitScript(() => {
        const timeout = globalThis.setTimeout;
        globalThis.setTimeout = ((callback: () => void, ms = 0) =>
          ms >= 3000 ? 0 : timeout(callback, ms)) as typeof setTimeout;
      });
    },
  });
  // The button takes clicks: one can interact.
  await page.locator('wa-button[data-command=run]').first().waitFor();
  await page.waitForTimeout(1500);
  const allowed = closure(HOME);
  expect(asked).toContain(`assets/${/assets\/(index-[^"]+\.js)/.exec(readFileSync('dist/index.html', 'utf8'))?.[1]}`);
  expect([...asked].filter((file) => !allowed.has(file))).toEqual([]);

  await page.mouse.move(300, 300);
  await expect
    .poll(() => [...asked].filter((file) => /assets\/worker-/.test(file)), { timeout: 20_000 })
    .toHaveLength(1);
  expect(problems).toEqual([]);
  await close();
});
