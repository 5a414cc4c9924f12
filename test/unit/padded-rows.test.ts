import fc from 'fast-check';
import { expect, test } from 'vitest';
import { padRows } from '../../src/model/autodiff/padded-rows';
import type { PackedRows } from '../../src/model/engine';

const POSITIONS = 40;

/** Rows of random lengths; a token after the first is trainable with probability ½. */
const packedRows: fc.Arbitrary<PackedRows> = fc
  .array(fc.array(fc.tuple(fc.nat(255), fc.boolean()), { minLength: 1, maxLength: POSITIONS }), { maxLength: 20 })
  .map((rows) => {
    const ids = rows.flatMap((row) => row.map(([id]) => id));
    const rowStart = [0];
    const trainable: number[] = [];
    const trainableStart = [0];
    for (const row of rows) {
      const from = rowStart[rowStart.length - 1]!;
      row.forEach(([, trained], i) => {
        if (trained && i > 0) trainable.push(from + i);
      });
      rowStart.push(from + row.length);
      trainableStart.push(trainable.length);
    }
    return {
      ids: Uint32Array.from(ids),
      rowStart: Uint32Array.from(rowStart),
      trainable: Uint32Array.from(trainable),
      trainableStart: Uint32Array.from(trainableStart),
    };
  });

test('every trainable token appears once, with its own prefix and nothing else before it', () => {
  fc.assert(
    fc.property(packedRows, fc.integer({ min: 1, max: 500 }), (packed, limit) => {
      const seen: number[] = [];
      for (const padded of padRows(packed, limit, POSITIONS)) {
        padded.trainable.forEach((p, i) => {
          seen.push(p);
          const token = packed.trainable[p]!;
          const row = packed.trainableStart.findIndex((start, r) => start <= p && p < packed.trainableStart[r + 1]!);
          const prefix = [...packed.ids.subarray(packed.rowStart[row]!, token)];
          const source = padded.source[i]!;
          const start = source - (source % padded.length);
          expect([...padded.ids.subarray(start, source + 1)]).toEqual(prefix);
          expect([...padded.previous.subarray(start, source + 1)]).toEqual([0, ...prefix.slice(0, -1)]);
          expect(padded.positions[source]).toBe(prefix.length - 1);
          expect(padded.targets[i]).toBe(packed.ids[token]);
        });
        expect(new Set(padded.source).size).toBe(padded.source.length);
        expect(padded.length).toBeLessThanOrEqual(POSITIONS);
      }
      expect(seen.sort((a, b) => a - b)).toEqual(Array.from(packed.trainable, (_, p) => p));
    }),
    { seed: 1 },
  );
});

test('a rectangle holds at most the limit, or four rows', () => {
  fc.assert(
    fc.property(packedRows, fc.integer({ min: 1, max: 500 }), (packed, limit) => {
      for (const { rows, length } of padRows(packed, limit, POSITIONS))
        expect(rows * length <= limit || rows <= 4).toBe(true);
    }),
    { seed: 2 },
  );
});

test('what a row is padded to does not depend on the rows around it', () => {
  fc.assert(
    fc.property(packedRows, (packed) => {
      const lengthOf = new Map<number, number>();
      for (const { trainable, length } of padRows(packed, 500, POSITIONS))
        for (const p of trainable) lengthOf.set(p, length);
      for (let r = 0; r + 1 < packed.rowStart.length; r++) {
        const from = packed.rowStart[r]!;
        const alone = {
          ids: packed.ids.slice(from, packed.rowStart[r + 1]!),
          rowStart: Uint32Array.from([0, packed.rowStart[r + 1]! - from]),
          trainable: packed.trainable
            .slice(packed.trainableStart[r]!, packed.trainableStart[r + 1]!)
            .map((token) => token - from),
          trainableStart: Uint32Array.from([0, packed.trainableStart[r + 1]! - packed.trainableStart[r]!]),
        };
        const [padded] = padRows(alone, 500, POSITIONS);
        if (padded) expect(padded.length).toBe(lengthOf.get(packed.trainableStart[r]!));
      }
    }),
    { seed: 3 },
  );
});
