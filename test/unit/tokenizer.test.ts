import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cutObservation,
  decode,
  decodeCommand,
  encode,
  special,
  tokens,
  VOCABULARY_SIZE,
} from '../../src/core/tokenizer/tokenizer';
import { namePool, noisePool, valuePool } from '../../src/core/tokenizer/vocabulary';

const words = (text: string) => [...encode(text)].map((id) => tokens[id]!.text);

/** Strings made of token texts, spaces and joints, where an ambiguous greedy match would show. */
const tokenSoup = fc
  .array(
    fc.oneof(fc.constantFrom(...tokens.map((t) => t.text)), fc.constantFrom(' ', '  ', '', 'x', '_', '\n', '/', '>')),
    {
      maxLength: 24,
    },
  )
  .map((parts) => parts.join(''));

describe('vocabulary', () => {
  test('has exactly 256 different tokens, specials first, pad 0', () => {
    expect(tokens.length).toBe(VOCABULARY_SIZE);
    expect(special.pad).toBe(0);
    expect(tokens.every((t, i) => t.id === i)).toBe(true);
    expect(new Set(tokens.map((t) => `${t.class} ${t.text}`)).size).toBe(VOCABULARY_SIZE);
  });

  test('the three pools are disjoint single words', () => {
    const all = [...namePool, ...valuePool, ...noisePool];
    expect(new Set(all).size).toBe(36 + 32 + 20);
    for (const word of all) expect(encode(word)).toHaveLength(1);
  });
});

describe('encode and decode', () => {
  test('task commands are one token a word', () => {
    expect(words('cat lamp')).toEqual(['cat', 'lamp']);
    expect(words('echo ruby jade > out')).toEqual(['echo', 'ruby', 'jade', '>', 'out']);
    expect(words('echo ruby jade > out; exit')).toHaveLength(6);
    expect(words('sed -i s/ruby/jade/ lamp')).toEqual(['sed -i s/', 'ruby', '/', 'jade', '/ ', 'lamp']);
    expect(words('cat: lamp: No such file or directory\n')).toHaveLength(3);
    expect(words("mv: cannot stat 'lamp': No such file or directory\n")).toHaveLength(3);
  });

  test('words match at boundaries only', () => {
    expect(words('catlamp')).toEqual([...'catlamp']);
    expect(words('lamp_2')).toEqual([...'lamp_2']);
    expect(words('a>out')).toEqual(['a', '>', 'out']);
  });

  test('is lossless for text, token soup, lone surrogates and control characters', () => {
    const anyUnits = fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
      .map((u) => String.fromCharCode(...u));
    const anyText = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(fc.oneof(anyUnits, anyText, tokenSoup), (text) => {
        expect(decode(encode(text))).toBe(text);
      }),
      { numRuns: 3000, seed: 1 },
    );
  });

  test('never encodes to a special token', () => {
    fc.assert(
      fc.property(fc.oneof(tokenSoup, fc.constant('⟨sum⟩ <sum> \u0000')), (text) => {
        expect([...encode(text)].every((id) => tokens[id]!.class !== 'special')).toBe(true);
      }),
      { numRuns: 500, seed: 2 },
    );
  });

  test('any ids decode without throwing, to text that can be encoded again', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 60 }), (ids) => {
        const text = decode(ids);
        expect(decode(encode(text))).toBe(text);
      }),
      { numRuns: 3000, seed: 3 },
    );
  });

  test('broken bytes become U+FFFD', () => {
    const nibble = tokens.findIndex((t) => t.class === 'nibble');
    expect(decode([nibble + 15])).toBe('\uFFFD'); // half a byte
    expect(decode([nibble + 15, nibble + 15])).toBe('\uFFFD'); // 0xff
    expect(decode([nibble + 14, nibble + 2, nibble + 8, nibble + 2, encode('a')[0]!])).toBe('\uFFFD\uFFFDa'); // cut short
  });

  test('agrees with the platform on well-formed and malformed bytes', () => {
    const nibble = tokens.findIndex((t) => t.class === 'nibble');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const ours = decode([...bytes].flatMap((b) => [nibble + (b >> 4), nibble + (b & 15)]));
        const theirs = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
        // The platform may merge one truncated sequence into a single U+FFFD and refuses surrogates, which we keep.
        const plain = (text: string) => text.replace(/[\uD800-\uDFFF\uFFFD]+/gu, '\uFFFD');
        expect(plain(ours)).toBe(plain(theirs));
      }),
      { numRuns: 3000, seed: 4 },
    );
  });
});

describe('sampled ids', () => {
  test('decodeCommand drops the final stop token only', () => {
    const action = [...encode('cat lamp')];
    expect(decodeCommand([...action, special.eoc])).toBe('cat lamp');
    expect(decodeCommand(action)).toBe('cat lamp');
    expect(decodeCommand([special.sum, ...action, special.eos])).toBe('⟨sum⟩cat lamp');
    expect(decodeCommand([])).toBe('');
  });

  test('glue joins words', () => {
    const [a, b] = encode('cat lamp');
    expect(decode([a!, special.glue, b!])).toBe('catlamp');
  });

  test('a cut observation keeps its cap and shows the cut', () => {
    const ids = encode('warm warm warm warm');
    expect(cutObservation(ids, 4)).toBe(ids);
    expect(decode(cutObservation(ids, 3))).toBe('warm warm⟨trunc⟩');
  });
});
