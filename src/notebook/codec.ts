/**
 * A whole notebook as the fragment of a link: `nb=<version>.<base64url(deflate-raw(JSON))>.<CRC-32 in hex>`.
 * The checksum covers everything between `nb=` and the last dot, and comes last so that a link ends in a letter or digit.
 * One decoder per version stays here for ever; test/fixtures/links.json holds links that must remain readable.
 */
import { LabError, type LabErrorParts } from '../core/errors';
import { fromBase64Url, toBase64Url } from './base64url';
import { crc32 } from './crc32';
import { deflateRaw, InflateLimitError, inflateRaw } from './deflate';
import { compactDocument, DOCUMENT_VERSION, type NotebookDocument, parseDocument, versionError } from './document';
import { limits } from './limits';
import { meansNotebook, mendedLinks } from './mend-link';

const FRESH_LINK = 'Ask for a fresh link, copied whole, or for the notebook as a file.';

const WHOLE = /^(([0-9]{1,4})\.([A-Za-z0-9_-]*))\.([0-9a-f]{8})$/;
/** Escaped three characters for one, some twice over: longer than this, no mangled link is looked into. */
const MANGLED_CHARS = 4 * limits.linkChars;

/**
 * Whether a fragment (with or without `#`) was meant to carry a notebook, also when it was damaged since. Others are left to
 * the page, e.g. `#cell-3`.
 */
export function isDocumentFragment(fragment: string): boolean {
  return /^#?nb=/.test(fragment) || meansNotebook(fragment.slice(0, MANGLED_CHARS));
}

/**
 * Encodes a document; keys that equal their defaults do not travel.
 * @returns `nb=1.….…`, without `#`
 * @throws LabError notebook.invalid, link.too-large, link.unsupported
 */
export async function encodeDocument(document: NotebookDocument): Promise<string> {
  requirePlatform();
  const { version, ...content } = compactDocument(parseDocument(document));
  const json = new TextEncoder().encode(JSON.stringify(content));
  if (json.length > limits.jsonBytes) throw tooLarge(`${json.length} bytes of text`, `${limits.jsonBytes} bytes`);
  const body = `${version}.${toBase64Url(await deflateRaw(json))}`;
  const fragment = `nb=${body}.${checksum(body)}`;
  if (fragment.length > limits.linkChars) throw tooLarge(`${fragment.length} characters`, `${limits.linkChars}`);
  return fragment;
}

/**
 * Decodes a fragment from anywhere: as it is when it is whole, else with what mail and chat programs did to it undone. Runs
 * nothing, stores nothing.
 * @param fragment with or without the leading `#`
 * @throws LabError link.damaged (cut or changed on its way), link.version, link.too-large, link.invalid (whole, but not a
 *   notebook), link.unsupported (the browser has no DecompressionStream)
 */
export async function decodeDocument(fragment: string): Promise<NotebookDocument> {
  requirePlatform();
  const { version, payload } = readEnvelope(fragment);
  if (version !== String(DOCUMENT_VERSION)) throw versionError(version, 'link');
  const compressed = fromBase64Url(payload);
  if (!compressed) throw damaged('the text is not base64url');
  return parseDocument({ ...(await readContent(compressed)), version: DOCUMENT_VERSION }, 'link');
}

/** The first reading of a fragment whose checksum fits: strictly first, then mended. */
function readEnvelope(fragment: string): { version: string; payload: string } {
  const most = `${limits.linkChars} characters`;
  if (fragment.length > MANGLED_CHARS) throw tooLarge(`${fragment.length} characters`, most);
  const strict = /^#?nb=/.test(fragment) ? fragment.slice(fragment.indexOf('=') + 1) : '';
  const readings = WHOLE.test(strict) ? [strict] : mendedLinks(fragment);
  for (const reading of readings) {
    if (reading.length > limits.linkChars) throw tooLarge(`${reading.length} characters`, most);
    const [, body = '', version = '', payload = '', sum] = WHOLE.exec(reading) ?? [];
    if (body !== '' && checksum(body) === sum) return { version, payload };
  }
  throw damaged(
    readings.length > 0
      ? 'the checksum does not fit the text'
      : 'the link is incomplete or holds characters that do not belong there',
  );
}

async function readContent(compressed: Uint8Array<ArrayBuffer>): Promise<object> {
  let content: unknown;
  try {
    const json = await inflateRaw(compressed, limits.jsonBytes);
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (cause) {
    if (cause instanceof InflateLimitError)
      throw tooLarge('more than that after decompression', `${limits.jsonBytes} bytes`);
    throw damaged('the text cannot be decompressed', cause);
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return content;
  throw new LabError({
    code: 'link.invalid',
    what: 'The link holds no notebook',
    expected: 'an object',
    fix: FRESH_LINK,
  });
}

function checksum(body: string): string {
  return crc32(new TextEncoder().encode(body)).toString(16).padStart(8, '0');
}

function damaged(got: string, cause?: unknown): LabError {
  const parts: LabErrorParts = {
    code: 'link.damaged',
    what: 'The link was damaged on its way',
    where: 'the part behind #',
    expected: 'nb=<version>.<text>.<checksum>',
    got,
    fix: FRESH_LINK,
  };
  return new LabError(parts, { cause });
}

function tooLarge(got: string, most: string): LabError {
  return new LabError({
    code: 'link.too-large',
    what: 'The notebook is too large for a link',
    expected: `at most ${most}`,
    got,
    fix: 'Share it as a file instead, or shorten it.',
  });
}

function requirePlatform(): void {
  if (typeof CompressionStream === 'undefined' || typeof DecompressionStream === 'undefined')
    throw new LabError({
      code: 'link.unsupported',
      what: 'This browser cannot read or write notebook links',
      expected: 'CompressionStream (Chrome 103, Firefox 113, Safari 16.4, Node 20.12 or newer)',
      fix: 'Update the browser, or share the notebook as a file.',
    });
}
