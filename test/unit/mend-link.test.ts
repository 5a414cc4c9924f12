/** Links that went through mail, chat and trackers: nothing was lost, so they open; whatever lost a character does not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LabError } from '../../src/core/errors';
import { decodeDocument, isDocumentFragment } from '../../src/notebook/codec';
import fixtures from '../fixtures/links.json';

const percent = (text: string, chars: string) =>
  [...text].map((char) => (chars.includes(char) ? `%${char.charCodeAt(0).toString(16).toUpperCase()}` : char)).join('');

/** What is known to happen to a link on its way. None of them loses a character of it. */
const manglings: Readonly<Record<string, (link: string) => string>> = {
  'percent-encoded =': (link) => percent(link, '='),
  'percent-encoded .': (link) => percent(link, '.'),
  'percent-encoded _': (link) => percent(link, '_'),
  'percent-encoded -': (link) => percent(link, '-'),
  'percent-encoded twice': (link) => percent(percent(link, '=._-'), '%'),
  'in capitals': (link) => link.replace('nb=', 'NB='),
  'a bracket behind': (link) => `${link})`,
  'a full stop behind': (link) => `${link}.`,
  'an angle bracket behind': (link) => `${link}>`,
  'a blank behind': (link) => `${link}%20`,
  'a zero-width space behind': (link) => `${link}\u200b`,
  'a soft hyphen inside': (link) => `${link.slice(0, 9)}\u00ad${link.slice(9)}`,
  'a line break inside': (link) => `${link.slice(0, 9)}\r\n${link.slice(9)}`,
  'a line break inside, escaped': (link) => `${link.slice(0, 9)}%0A${link.slice(9)}`,
  '?utm_source behind': (link) => `${link}?utm_source=x`,
  '&utm_source behind': (link) => `${link}&utm_source=x`,
  '&fbclid behind': (link) => `${link}&fbclid=Iw.AR_-0`,
};

async function outcome(fragment: string): Promise<unknown> {
  try {
    return await decodeDocument(fragment);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return error.code;
  }
}

describe.each(Object.entries(manglings))('a link with %s', (_, mangle) => {
  test.each(fixtures.links.map(({ link, document }, index) => ({ index, link, document })))(
    'opens: $index',
    async ({ link, document }) => {
      const mangled = `#${mangle(link)}`;
      expect(isDocumentFragment(mangled)).toBe(true);
      expect(await decodeDocument(mangled)).toEqual(document);
    },
  );
});

test('several of them at once open too', async () => {
  const names = Object.keys(manglings).filter((name) => name !== 'percent-encoded twice');
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...fixtures.links),
      fc.subarray(names, { maxLength: 3 }),
      async (entry, chosen) => {
        // What stands behind a link comes last: a line break inside one is inside the link.
        const order = [...chosen].sort((a, b) => Number(a.endsWith('behind')) - Number(b.endsWith('behind')));
        const mangled = order.reduce((link, name) => manglings[name]?.(link) ?? link, entry.link);
        expect(await decodeDocument(`#${mangled}`)).toEqual(entry.document);
      },
    ),
  );
});

test('a link that lost or changed a character of its text is damaged, never another notebook, never home', async () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_';
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...fixtures.links),
      fc.nat(),
      fc.constantFrom('', ...alphabet),
      fc.constantFrom(...Object.values(manglings)),
      async ({ link }, place, put, mangle) => {
        const at = 'nb=1.'.length + (place % (link.length - 'nb=1.'.length - '.12345678'.length));
        fc.pre(link[at] !== put && link[at] !== '-');
        const changed = `#${mangle(link.slice(0, at) + put + link.slice(at + 1))}`;
        expect(isDocumentFragment(changed)).toBe(true);
        expect(await outcome(changed)).toBe('link.damaged');
      },
    ),
    { numRuns: 500 },
  );
});

test.each(['#cell-3', '#what-reproduces', '#', '', '#numbers', '#snb=1'])('%s is no notebook', (fragment) => {
  expect(isDocumentFragment(fragment)).toBe(false);
});
