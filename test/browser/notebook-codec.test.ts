/** The link codec on Chromium's own compression streams; test/unit/codec.test.ts has the long version on Node's. */
import { expect, test } from 'vitest';
import { LabError } from '../../src/core/errors';
import { RandomStream } from '../../src/core/rng';
import { toBase64Url } from '../../src/notebook/base64url';
import { decodeDocument, encodeDocument } from '../../src/notebook/codec';
import { crc32 } from '../../src/notebook/crc32';
import { deflateRaw } from '../../src/notebook/deflate';
import { parseDocument } from '../../src/notebook/document';
import { homeDocument } from '../../src/notebook/home';
import fixtures from '../fixtures/links.json';

const seal = (body: string) => `nb=${body}.${crc32(new TextEncoder().encode(body)).toString(16).padStart(8, '0')}`;

test('reads every link ever given out, and its own', async () => {
  for (const { link, document } of fixtures.links) expect(await decodeDocument(link)).toEqual(document);
  expect(await decodeDocument(await encodeDocument(homeDocument))).toEqual(homeDocument);
});

test('damaged content behind a fitting checksum gives a LabError or a valid document', async () => {
  const link = await encodeDocument(homeDocument);
  const [, payload = ''] = link.split('.');
  const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
  const random = new RandomStream(1, 'test', 0);
  const codes = new Set<string>();
  for (let i = 0; i < 1000; i++) {
    const at = random.integer(payload.length);
    const text =
      random.integer(4) === 0
        ? payload.slice(0, at)
        : payload.slice(0, at) + random.pick(alphabet) + payload.slice(at + 1);
    try {
      const document = await decodeDocument(seal(`1.${text}`));
      expect(document).toEqual(parseDocument(document));
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      codes.add(error.code);
    }
  }
  expect(codes).toContain('link.damaged');
});

test('lets go of a decompression bomb, and of bytes behind the end', async () => {
  const bomb = toBase64Url(await deflateRaw(new Uint8Array(50_000_000)));
  await expect(decodeDocument(seal(`1.${bomb}`))).rejects.toMatchObject({ parts: { code: 'link.too-large' } });
  const whole = await deflateRaw(new TextEncoder().encode('{}'));
  const longer = new Uint8Array(whole.length + 3);
  longer.set(whole);
  await expect(decodeDocument(seal(`1.${toBase64Url(longer)}`))).rejects.toMatchObject({
    parts: { code: 'link.damaged' },
  });
});
