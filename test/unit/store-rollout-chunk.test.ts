import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorParts } from '../../src/core/errors';
import { parseRolloutLine, rolloutLine } from '../../src/core/trajectory/trajectory-jsonl';
import { packRollouts, unpackRollouts } from '../../src/store/rollout-chunk';
import { bits, rolloutArbitrary, sampleRollouts } from './store-samples';

describe('packed rollouts', () => {
  test('come back bit for bit, in order, whatever the floats outside the mask', () => {
    fc.assert(
      fc.property(
        fc.array(rolloutArbitrary, { maxLength: 6 }),
        fc.integer({ min: 1, max: 300 }),
        (rollouts, tokens) => {
          const back = packRollouts(rollouts, tokens).flatMap(unpackRollouts);
          expect(back.map(bits)).toEqual(rollouts.map(bits));
        },
      ),
      { seed: 1, numRuns: 150 },
    );
  });

  test('hold floats of masked tokens only, and chunks hold whole rollouts of about the size asked for', () => {
    const [base] = sampleRollouts(1, 3);
    const mask = Uint8Array.from({ length: 100 }, (_, i) => (i < 20 ? 1 : 0));
    const floats = Float32Array.from(mask);
    const segment = { kind: 'execution' as const, contextLength: 5, ids: new Uint16Array(100), mask };
    const one = {
      ...base!,
      segments: [{ ...segment, logp: floats, values: floats, advantages: floats, targets: floats }],
    };
    const chunks = packRollouts([one, one, one, one, one], 250);
    expect(chunks.map((chunk) => chunk.rollouts.length)).toEqual([2, 2, 1]);
    expect(chunks[0]?.floats.length).toBe(2 * 4 * 20);
  });

  test('own their memory, so that storing one stores nothing else', () => {
    const big = new Float32Array(1000);
    const [base] = sampleRollouts(1, 3);
    const view = big.subarray(10, 12);
    const segment = { kind: 'summary' as const, contextLength: 0, ids: new Uint16Array(2), mask: new Uint8Array(2) };
    const one = { ...base!, segments: [{ ...segment, logp: view, values: view, advantages: view, targets: view }] };
    const [chunk] = packRollouts([one]);
    expect(chunk?.floats.buffer.byteLength).toBe(0);
    const [back] = unpackRollouts(chunk!);
    expect(back?.segments[0]?.logp.buffer.byteLength).toBe(8);
  });

  test('lists of different lengths are refused by name', () => {
    const [base] = sampleRollouts(1, 3);
    const floats = new Float32Array(2);
    const segment = { kind: 'summary' as const, contextLength: 0, ids: new Uint16Array(2), mask: new Uint8Array(2) };
    const one = {
      ...base!,
      segments: [{ ...segment, logp: floats, values: new Float32Array(3), advantages: floats, targets: floats }],
    };
    expect(() => packRollouts([one])).toThrowError(/different lengths at values: expected 2 entries, got 3/);
  });
});

describe('trajectory lines', () => {
  test('give every float32 back, ±∞ and −0 included, and NaN as NaN', () => {
    fc.assert(
      fc.property(rolloutArbitrary, (rollout) => {
        const line = rolloutLine(rollout, (ids) => `${ids.length} tokens`);
        expect(line).not.toContain('\n');
        // toEqual tells −0 from 0 and takes NaN for NaN; JSON has one NaN only, so payloads are not compared.
        expect(parseRolloutLine(line)).toEqual(rollout);
      }),
      { seed: 2, numRuns: 200 },
    );
  });

  test('are short: the fewest digits that give the same float32', () => {
    const [base] = sampleRollouts(1, 3);
    const floats = Float32Array.from([0.1, 1 / 3, -2]);
    const segment = { kind: 'summary' as const, contextLength: 0, ids: new Uint16Array(3), mask: new Uint8Array(3) };
    const one = {
      ...base!,
      segments: [{ ...segment, logp: floats, values: floats, advantages: floats, targets: floats }],
    };
    expect(rolloutLine(one)).toContain('"logp":[0.1,0.33333334,-2]');
  });

  test('carry the text of each segment for readers', () => {
    const rollout = sampleRollouts(20, 5).find((r) => r.segments.length > 0)!;
    const line = JSON.parse(rolloutLine(rollout, (ids) => Array.from(ids).join(' ')));
    expect(line.segments[0].text).toBe(Array.from(rollout.segments[0]!.ids).join(' '));
  });

  const line = () => JSON.parse(rolloutLine(sampleRollouts(20, 5).find((r) => (r.segments[0]?.ids.length ?? 0) > 3)!));
  const broken: [string, (o: ReturnType<typeof line>) => void, RegExp][] = [
    ['another format', (o) => (o.format = 'x'), /format: expected "compaction-lab\/rollout@1", got "x"/],
    ['a missing key', (o) => delete o.stop, /stop/],
    ['an unknown key', (o) => (o.extra = 1), /extra: expected no such key/],
    ['an id out of range', (o) => (o.segments[0].ids[1] = 65536), /segments\.0\.ids: .*got 65536 at index 1/],
    ['a mask of 2', (o) => (o.segments[0].mask[0] = 2), /segments\.0\.mask: expected whole numbers from 0 to 1/],
    ['a text among floats', (o) => (o.segments[0].logp[2] = '1'), /segments\.0\.logp: .*got "1" at index 2/],
    ['a short list', (o) => o.segments[0].values.pop(), /segments\.0: expected lists of one length/],
    ['too much context', (o) => (o.segments[0].contextLength = 999), /contextLength ≤ number of ids/],
  ];
  test.each(broken)('%s is refused by name', (_name, damage, message) => {
    const object = line();
    expect(parseRolloutLine(JSON.stringify(object))).toBeDefined();
    damage(object);
    expect(() => parseRolloutLine(JSON.stringify(object), 'line 7')).toThrowError(message);
  });

  test('what is not JSON is refused with its line', () => {
    try {
      parseRolloutLine('{"format":', 'x.jsonl line 3');
      expect.unreachable();
    } catch (error) {
      expect(errorParts(error)).toMatchObject({ code: 'trajectory.bad-line', where: 'x.jsonl line 3' });
    }
  });
});
