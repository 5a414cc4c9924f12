/** Links in a stock Firefox: those given out earlier, and what mail and chat made of them. */
import { expect, test } from 'vitest';
import fixtures from '../fixtures/links.json';
import { openSite, storedHeaders, textThere } from './page';

const manglings: Readonly<Record<string, (link: string) => string>> = {
  untouched: (link) => link,
  'with percent-encoded signs': (link) =>
    link.replace(/[=._-]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  'with a bracket and a tracker behind': (link) => `${link})?utm_source=x`,
};

test('links given out earlier open, also as mail and chat pass them on', async () => {
  expect(fixtures.links.length).toBeGreaterThan(0);
  for (const [index, { link }] of fixtures.links.entries()) {
    // All as they were given out; the mangled ones by turns, for time.
    const [untouched, ...others] = Object.entries(manglings);
    for (const [name, mangle] of [untouched!, others[index % others.length]!]) {
      const { page, problems, close } = await openSite(`#${mangle(link)}`);
      await textThere(page, 'Opened from a link.').catch((cause) => {
        throw new Error(`Link ${index}, ${name}: not opened within half a minute.`, { cause });
      });
      expect(await page.$('>>> lab-error section'), `link ${index}, ${name}`).toBeNull();
      expect(await storedHeaders(page)).toEqual([]);
      expect(problems).toEqual([]);
      await close();
    }
  }
});

test('a link that lost a character says so', async () => {
  const { page, close } = await openSite(`#${fixtures.links.at(-1)!.link.replace(/.(?=.{20}$)/, '')}`);
  await textThere(page, /link\.damaged/);
  await close();
});
