/** Links: what goes in comes out, and whatever else comes in gives a message and nothing more. */
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LabError } from '../../src/core/errors';
import { RandomStream } from '../../src/core/rng';
import { fromBase64Url, toBase64Url } from '../../src/notebook/base64url';
import { decodeDocument, encodeDocument, isDocumentFragment } from '../../src/notebook/codec';
import { crc32 } from '../../src/notebook/crc32';
import { type NotebookDocument, parseDocument } from '../../src/notebook/document';
import { homeDocument } from '../../src/notebook/home';
import { limits } from '../../src/notebook/limits';
import fixtures from '../fixtures/links.json';
import { documentArbitrary } from './notebook-samples';

afterEach(() => vi.unstubAllGlobals());

/** A link of any content, with a checksum that fits: what somebody malicious would send. */
function forge(content: unknown, version: string | number = 1): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(JSON.stringify(content));
  return seal(`${version}.${deflateRawSync(bytes).toString('base64url')}`);
}
function seal(body: string): string {
  return `nb=${body}.${crc32(Buffer.from(body)).toString(16).padStart(8, '0')}`;
}

const sample: NotebookDocument = {
  version: 1,
  title: 'A title',
  cells: [
    { kind: 'prose', markdown: 'Some **text** with $x^2$.' },
    { kind: 'experiment', preset: 'verbose-chain', seed: 7, config: { window: 96, keepTask: true } },
  ],
};

describe('encode and decode', () => {
  test('are each other’s inverse for every document', async () => {
    await fc.assert(
      fc.asyncProperty(documentArbitrary, async (document) => {
        const link = await encodeDocument(document);
        expect(await decodeDocument(link)).toEqual(document);
        expect(await decodeDocument(`#${link}`)).toEqual(document);
        // Survives chat programs: no character that they cut off, escape or take for the end of the address.
        expect(link).toMatch(/^nb=1\.[A-Za-z0-9_-]*\.[0-9a-f]{8}$/);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  test('only what differs from the defaults travels', async () => {
    const plain = await encodeDocument({
      version: 1,
      title: '',
      cells: [{ kind: 'experiment', preset: 'quick', seed: 1, config: {} }],
    });
    const [, payload = ''] = plain.split('.');
    const { inflateRawSync } = await import('node:zlib');
    expect(inflateRawSync(Buffer.from(payload, 'base64url')).toString()).toBe('{"cells":[{"kind":"experiment"}]}');
  });

  test('the home page makes a link that every chat program takes', async () => {
    const link = await encodeDocument(homeDocument);
    expect(await decodeDocument(link)).toEqual(homeDocument);
    expect(link.length).toBeLessThan(limits.comfortableLinkChars);
  });

  test('a document that could not be read again is not written', async () => {
    const bad = { ...sample, cells: [{ kind: 'prose', markdown: 'x'.repeat(limits.proseChars + 1) }] };
    await expect(encodeDocument(bad as NotebookDocument)).rejects.toMatchObject({
      parts: { code: 'notebook.invalid' },
    });
  });

  test('a document too large for a link says to use a file', async () => {
    const random = new RandomStream(1, 'test', 0);
    const noise = () =>
      Array.from({ length: limits.proseChars }, () => String.fromCharCode(0x4e00 + random.integer(0x5000)));
    const cells = Array.from({ length: 10 }, () => ({ kind: 'prose' as const, markdown: noise().join('') }));
    await expect(encodeDocument({ version: 1, title: '', cells })).rejects.toMatchObject({
      parts: { code: 'link.too-large', fix: expect.stringContaining('file') },
    });
  });

  test('links that were once given out are read for ever', async () => {
    expect(fixtures.links.length).toBeGreaterThan(3);
    for (const { link, document } of fixtures.links) expect(await decodeDocument(link)).toEqual(document);
  });

  test('a browser without compression streams is told which one has them', async () => {
    vi.stubGlobal('DecompressionStream', undefined);
    await expect(decodeDocument('nb=1.AA.00000000')).rejects.toMatchObject({ parts: { code: 'link.unsupported' } });
  });
});

describe('links from elsewhere', () => {
  test('10,000 damaged links give a LabError or the same document', { timeout: 60_000 }, async () => {
    const link = await encodeDocument(sample);
    const random = new RandomStream(2, 'test', 0);
    const alphabet = 'ABCXYZabcxyz0189-_.=+/%# \u0000é\u{1f600}';
    const codes = new Map<string, number>();
    const mutate = (text: string): string => {
      const at = random.integer(text.length);
      const char = random.pick([...alphabet]);
      switch (random.integer(5)) {
        case 0: // one character changed
          return text.slice(0, at) + char + text.slice(at + 1);
        case 1: // cut off
          return text.slice(0, at);
        case 2: // something inserted
          return text.slice(0, at) + char.repeat(1 + random.integer(3)) + text.slice(at);
        case 3: // a piece lost
          return text.slice(0, at) + text.slice(at + 1 + random.integer(8));
        default: // one bit flipped, as on a bad line
          return (
            text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << random.integer(7))) + text.slice(at + 1)
          );
      }
    };
    for (let i = 0; i < 10_000; i++) {
      let text = link;
      for (let n = 1 + random.integer(3); n > 0 && text.length > 0; n--) text = mutate(text);
      // Half of them get a checksum that fits: then decompression and validation have to hold by themselves.
      const sealed = i % 2 === 1;
      if (sealed) text = seal(text.slice(3, text.lastIndexOf('.')));
      try {
        const document = await decodeDocument(text);
        // Behind a fitting checksum another valid document may stand, e.g. with another letter in its title.
        expect(document).toEqual(sealed ? parseDocument(document) : sample);
        codes.set('same', (codes.get('same') ?? 0) + 1);
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        expect(error.message.length).toBeLessThan(400);
        codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
      }
    }
    // The mutations reach every layer: checksum, version and content.
    expect([...codes.keys()]).toEqual(expect.arrayContaining(['link.damaged', 'link.version', 'link.invalid']));
  });

  test('any text at all gives a LabError', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.string().map(seal), fc.base64String().map(seal)), async (text) => {
        await expect(decodeDocument(text)).rejects.toBeInstanceOf(LabError);
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  test.each<[string, string, string]>([
    ['nothing', '', 'link.damaged'],
    ['another fragment', '#cell-3', 'link.damaged'],
    ['a link without its end', 'nb=1.q1YqLVayUvJIzcnJVwjPL8pJUQIA', 'link.damaged'],
    ['a newer version', forge({ title: 'x' }, 2), 'link.version'],
    ['version 0', forge({}, 0), 'link.version'],
    ['version 01, another way to write 1', forge({}, '01'), 'link.version'],
    ['an empty payload', seal('1.'), 'link.damaged'],
    ['base64url of an impossible length', seal('1.AAAAA'), 'link.damaged'],
    ['bytes that are not deflate', seal(`1.${Buffer.from([0xff, 0xff, 0xff]).toString('base64url')}`), 'link.damaged'],
    [
      'a deflate stream without its end',
      seal(`1.${deflateRawSync(Buffer.alloc(99)).subarray(0, 3).toString('base64url')}`),
      'link.damaged',
    ],
    ['no JSON', forge('{"title":'), 'link.damaged'],
    [
      'bytes that are not UTF-8',
      seal(`1.${deflateRawSync(Buffer.from([0x22, 0xff, 0x22])).toString('base64url')}`),
      'link.damaged',
    ],
    ['a list', forge([]), 'link.invalid'],
    ['a number', forge(7), 'link.invalid'],
    ['null', forge(null), 'link.invalid'],
    ['an unknown key', forge({ script: 'x' }), 'link.invalid'],
    ['an unknown kind of cell', forge({ cells: [{ kind: 'javascript', code: 'x' }] }), 'link.invalid'],
    ['a kind from the prototype', forge({ cells: [{ kind: 'constructor' }] }), 'link.invalid'],
    ['an unknown configuration key', forge({ cells: [{ kind: 'experiment', config: { windw: 64 } }] }), 'link.invalid'],
    ['a value out of range', forge({ cells: [{ kind: 'experiment', config: { window: 1e9 } }] }), 'link.invalid'],
    ['NaN as text', forge({ cells: [{ kind: 'experiment', config: { gamma: 'NaN' } }] }), 'link.invalid'],
    ['an overflowing number', forge('{"cells":[{"kind":"experiment","config":{"gamma":1e999}}]}'), 'link.invalid'],
    ['a seed that is no whole number', forge({ cells: [{ kind: 'experiment', seed: 1.5 }] }), 'link.invalid'],
    ['a preset with markup', forge({ cells: [{ kind: 'experiment', preset: '<img>' }] }), 'link.invalid'],
    ['too many cells', forge({ cells: Array(65).fill({ kind: 'prose' }) }), 'link.invalid'],
    [
      'too much prose in all',
      forge({ cells: Array(11).fill({ kind: 'prose', markdown: 'x'.repeat(19_000) }) }),
      'link.invalid',
    ],
    ['a title too long', forge({ title: 'x'.repeat(201) }), 'link.invalid'],
    ['__proto__ in the document', forge('{"__proto__":{"polluted":1}}'), 'link.invalid'],
    ['__proto__ in a cell', forge('{"cells":[{"kind":"prose","__proto__":{"polluted":1}}]}'), 'link.invalid'],
    [
      '__proto__ in a configuration',
      forge('{"cells":[{"kind":"experiment","config":{"__proto__":{"polluted":1}}}]}'),
      'link.invalid',
    ],
    [
      'constructor in a configuration',
      forge({ cells: [{ kind: 'experiment', config: { constructor: 1 } }] }),
      'link.invalid',
    ],
    ['a version inside', forge({ version: 3 }), 'same'],
    ['endless nesting', forge(`{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), 'link.invalid'],
    ['a link longer than any', `nb=1.${'A'.repeat(300_000)}.00000000`, 'link.too-large'],
  ])('%s', async (_name, link, code) => {
    const outcome = await decodeDocument(link).then(
      () => 'same',
      (error) => (error instanceof LabError ? error.code : String(error)),
    );
    expect(outcome).toBe(code);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('a decompression bomb is let go at the bound', async () => {
    // 180 MB of zeros in 175 kB, the most a link may carry: 1032 : 1 is all that deflate can do.
    const bomb = seal(`1.${deflateRawSync(Buffer.alloc(180_000_000), { level: 9 }).toString('base64url')}`);
    expect(bomb.length).toBeLessThan(limits.linkChars);
    const memoryBytes = () => process.memoryUsage().arrayBuffers + process.memoryUsage().external;
    const before = memoryBytes();
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, memoryBytes());
    }, 1);
    const outcome = await decodeDocument(bomb).catch((error) => error);
    clearInterval(sampler);
    expect(outcome).toMatchObject({ parts: { code: 'link.too-large' } });
    // A few pieces of at most 1 MB each are in flight, twice counted here; all of it would be 180 MB, twice counted.
    expect(Math.max(peak, memoryBytes()) - before).toBeLessThan(30e6);
  });

  test('fragments that carry no notebook are told apart', () => {
    expect(['nb=1.x.y', '#nb=', '#cell-3', '', 'xnb='].map(isDocumentFragment)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('parts', () => {
  test('CRC-32 gives the published check value', () => {
    // "123456789" → CBF43926: the check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms.
    expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
    expect(crc32(new Uint8Array(0))).toBe(0);
  });

  test('base64url is what Node’s is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64url');
        expect(toBase64Url(bytes)).toBe(text);
        expect(fromBase64Url(text)).toEqual(Uint8Array.from(bytes));
      }),
      { seed: 4 },
    );
    expect(toBase64Url(new Uint8Array(100_000)).length).toBe(133_334);
    for (const bad of ['A', 'AAAAA', 'AA==', 'A+', 'A/', 'Ä', ' ']) expect(fromBase64Url(bad)).toBeNull();
  });
});
