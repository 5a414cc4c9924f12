import { readdirSync, readFileSync, statSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { launchPage } from './page';

test('the production build opens under a sub-path without a console error or a foreign request', async () => {
  const { page, problems, close } = await launchPage();
  await page.waitForFunction(() => customElements.get('lab-app') !== undefined);
  expect(await page.title()).toContain('compaction-lab');
  expect(problems).toEqual([]);
  await close();
});

test('the page runs without cross-origin isolation and has WebGPU', async () => {
  const { page, close } = await launchPage();
  const facts = await page.evaluate(async () => ({
    isolated: crossOriginIsolated,
    adapter: (await navigator.gpu?.requestAdapter())?.info.vendor,
  }));
  expect(facts).toEqual({ isolated: false, adapter: 'google' });
  await close();
});

test('the page helper sees what it is there to see', async () => {
  const { page, problems, axe, close } = await launchPage();
  await page.evaluate(async () => {
    console.error('made by the test');
    await fetch('missing-file').catch(() => {});
    await fetch('https://example.invalid/').catch(() => {});
    const image = document.createElement('img');
    image.src = 'icon.svg';
    document.body.append(image);
  });
  await expect.poll(() => problems.join('\n')).toMatch(/console: made by the test[\s\S]*HTTP 404: .*missing-file/);
  expect(problems.join('\n')).toMatch(/Content Security Policy|another host/);
  expect((await axe()).join('\n')).toContain('image-alt');
  await close();
});

test('nothing in the build loads from another host or from the root of its own', async () => {
  const html = await (await fetch(inject('siteUrl'))).text();
  const references = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1] ?? '');
  expect(references.length).toBeGreaterThan(1);
  expect(references.filter((reference) => !reference.startsWith('./'))).toEqual([]);
  const styles = files('dist').filter((path) => path.endsWith('.css'));
  for (const path of styles) expect(readFileSync(path, 'utf8')).not.toMatch(/url\(\s*["']?(?:https?:)?\/\/|@import/);
});

function files(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}
