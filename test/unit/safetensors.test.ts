import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LabError } from '../../src/core/errors';
import { type NamedTensor, readSafetensors, requireTensor, writeSafetensors } from '../../src/core/safetensors';
import { readModel, readTrainingState } from '../../src/run/session/model-file';

/** A file from its parts, made without the writer under test. */
function file(header: unknown, data: number[] = [], length?: bigint): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, length ?? BigInt(json.length), true);
  bytes.set(json, 8);
  bytes.set(data, 8 + json.length);
  return bytes;
}
const entry = (begin: number, end: number, shape = [(end - begin) / 4], dtype = 'F32') => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

const tensor: fc.Arbitrary<Omit<NamedTensor, 'name'>> = fc
  .array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 })
  .chain((shape) => {
    const size = shape.reduce((a, b) => a * b, 1);
    return fc
      .array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: size, maxLength: size })
      .map((bits) => ({ shape, data: new Float32Array(Uint32Array.from(bits).buffer) }));
  });
const name = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((n) => n !== '__metadata__');
const tensors = fc
  .uniqueArray(fc.tuple(name, tensor), { selector: ([n]) => n, maxLength: 5 })
  .map((list) => list.map(([n, t]): NamedTensor => ({ name: n, ...t })));
const bitsOf = (data: Float32Array) => Array.from(new Uint32Array(data.buffer, data.byteOffset, data.length));

describe('safetensors', () => {
  test('read gives what was written, every bit, metadata included', () => {
    fc.assert(
      fc.property(tensors, fc.dictionary(fc.string(), fc.string()), (list, metadata) => {
        const back = readSafetensors(writeSafetensors(list, metadata));
        expect([...back.tensors.values()].map((t) => [t.name, t.shape, bitsOf(t.data)])).toEqual(
          // Tensors without data share an offset with their neighbour, and names order them then.
          [...back.tensors.keys()].map((n) => {
            const { shape, data } = list.find((t) => t.name === n)!;
            return [n, shape, bitsOf(data)];
          }),
        );
        expect(back.tensors.size).toBe(list.length);
        expect(Object.fromEntries(back.metadata)).toEqual({ ...metadata });
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  test('the layout is the published one: length, JSON, spaces to a multiple of eight, little-endian data', () => {
    const bytes = writeSafetensors([{ name: 'a', shape: [1, 2], data: Float32Array.from([1, -2]) }], { k: 'v' });
    const header = '{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}';
    const padded = header.padEnd(Math.ceil(header.length / 8) * 8);
    expect(bytes).toEqual(file(padded, [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]));
  });

  test('reads a file that starts in the middle of a buffer', () => {
    const bytes = writeSafetensors([{ name: 'a', shape: [2], data: Float32Array.from([3, 4]) }]);
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    expect(readSafetensors(shifted.subarray(3)).tensors.get('a')?.data).toEqual(Float32Array.from([3, 4]));
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    'reads a header of any length (8 k + %i bytes), also from the Buffer that Node reads a file into',
    (odd) => {
      const bare = JSON.stringify({ a: entry(0, 8) });
      const json = bare + ' '.repeat((8 + odd - (bare.length % 8)) % 8);
      expect(json.length % 8).toBe(odd);
      const bytes = file(json, [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
      for (const given of [bytes, Buffer.from(bytes)]) {
        const data = readSafetensors(given).tensors.get('a')!.data;
        expect(data).toEqual(Float32Array.from([1, -2]));
        data[0] = 9; // a copy of its own
        expect([...given.subarray(-8, -4)]).toEqual([0, 0, 0x80, 0x3f]);
      }
    },
  );

  test('errors of a model name its file and the place in it, once', () => {
    const where = 'bases/some.safetensors';
    const shape = { vocabulary: 4, dModel: 2, layers: 1, heads: 1, mlp: 2, positions: 4, previousToken: false };
    const broken: [Uint8Array, RegExp][] = [
      [new Uint8Array(3), /at bases\/some\.safetensors, header length: expected at least 8/],
      [file({}), /at bases\/some\.safetensors: expected metadata/],
      [file({ __metadata__: { shape: JSON.stringify(shape) } }), /at bases\/some\.safetensors, wte: expected shape/],
    ];
    for (const [bytes, message] of broken) {
      expect(() => readModel(bytes, where)).toThrowError(message);
      expect(() => readTrainingState(bytes, where)).toThrowError(/at bases\/some\.safetensors[,:]/);
    }
  });

  const zeros = (n: number) => new Array<number>(n).fill(0);
  test.each<[string, Uint8Array, RegExp]>([
    ['an empty file', new Uint8Array(0), /header length: expected at least 8 bytes, got 0/],
    ['a header past the end', file({}, [], 1000n), /header length: expected at most 2 bytes, got 1000/],
    ['a header length of 2⁶³', file({}, [], 2n ** 63n), /header length/],
    ['no JSON', file('{"a":'), /header: expected JSON/],
    ['a space before the brace', file(' {}'), /must start with \{/],
    ['a list', file('[]'), /must start with \{/],
    [
      'bytes that are not UTF-8',
      Uint8Array.of(4, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0x22, 0xff, 0x7d),
      /header: .*(utf-8|encoded)/i,
    ],
    ['another dtype', file({ a: entry(0, 4, [1], 'BF16') }, zeros(4)), /a\.dtype: expected F32, got "BF16"/],
    ['a negative size', file({ a: entry(0, 4, [-1]) }, zeros(4)), /a\.shape/],
    ['a fraction', file({ a: entry(0, 6, [1.5]) }, zeros(6)), /a\.shape/],
    ['a shape that overflows', file({ a: entry(0, 4, [2 ** 31, 2 ** 31, 4]) }, zeros(4)), /4 bytes for each/],
    ['an end past the file', file({ a: entry(0, 8) }, zeros(4)), /begin ≤ end ≤ 4/],
    ['an end before the begin', file({ a: entry(4, 0, [1]) }, zeros(4)), /begin ≤ end/],
    ['a size unlike its shape', file({ a: entry(0, 8, [1]) }, zeros(8)), /4 bytes for each of shape \[1\], got 8/],
    ['an overlap', file({ a: entry(0, 8), b: entry(4, 12) }, zeros(12)), /at b: expected data from byte 8/],
    ['a hole', file({ a: entry(0, 4), b: entry(8, 12) }, zeros(12)), /at b: expected data from byte 4/],
    ['bytes behind the last tensor', file({ a: entry(0, 4) }, zeros(5)), /end of file/],
    ['metadata that is no text', file({ __metadata__: { a: 1 } }), /__metadata__\.a: expected a string/],
    ['an entry that is no object', file({ a: null }), /at a: expected an object/],
  ])('%s is refused', (_name, bytes, message) => {
    expect(() => readSafetensors(bytes)).toThrowError(LabError);
    expect(() => readSafetensors(bytes)).toThrowError(message);
  });

  test('a tensor named __proto__ is a tensor and nothing more', () => {
    const bytes = file('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', [0, 0, 0x80, 0x3f]);
    expect(readSafetensors(bytes).tensors.get('__proto__')?.data).toEqual(Float32Array.from([1]));
    expect(({} as Record<string, unknown>).dtype).toBeUndefined();
    expect(writeSafetensors([{ name: '__proto__', shape: [], data: new Float32Array(1) }]).length).toBeGreaterThan(60);
  });

  test('damaged files give a LabError or a file of the same size, never anything else', () => {
    const good = writeSafetensors([
      { name: 'wte', shape: [2, 3], data: new Float32Array(6) },
      { name: 'bias', shape: [3], data: new Float32Array(3) },
    ]);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: good.length }),
        (edits, cut) => {
          const bytes = good.slice(0, cut % 3 === 0 ? cut : good.length);
          for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value;
          try {
            for (const { data, shape } of readSafetensors(bytes).tensors.values())
              expect(data.length).toBe(shape.reduce((a, b) => a * b, 1));
          } catch (error) {
            expect(error).toBeInstanceOf(LabError);
          }
        },
      ),
      { seed: 3, numRuns: 3000 },
    );
  });

  test('writing refuses a shape that does not fit and a name used twice', () => {
    const one = { name: 'a', shape: [1], data: new Float32Array(1) };
    expect(() => writeSafetensors([{ ...one, shape: [2] }])).toThrowError(/at a: expected 1 values, got shape \[2\]/);
    expect(() => writeSafetensors([one, one])).toThrowError(/second tensor/);
    expect(() => writeSafetensors([{ ...one, name: '__metadata__' }])).toThrowError(LabError);
  });

  test('requireTensor names what is missing or of another shape', () => {
    const opened = readSafetensors(writeSafetensors([{ name: 'a', shape: [1, 2], data: new Float32Array(2) }]));
    expect(requireTensor(opened, 'a', [1, 2])).toEqual(new Float32Array(2));
    expect(() => requireTensor(opened, 'b', [2])).toThrowError(/at b: expected shape \[2\], got only a/);
    expect(() => requireTensor(opened, 'a', [2])).toThrowError(/at a: expected shape \[2\], got \[1, 2\]/);
  });
});
