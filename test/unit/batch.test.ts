import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Rollout, Segment } from '../../src/core/trajectory/trajectory';
import { packRollouts, selectRollouts, writeBack } from '../../src/run/learn/batch';

/** A segment whose arrays can be told apart token by token. */
function segmentOf(mask: readonly number[], tag: number): Segment {
  const numbered = mask.map((_, i) => tag * 100 + i);
  const only = (f: (i: number) => number) => Float32Array.from(mask, (m, i) => (m ? f(i) : 0));
  return {
    kind: tag % 2 === 0 ? 'execution' : 'summary',
    ids: Uint16Array.from(numbered),
    mask: Uint8Array.from(mask),
    contextLength: 1,
    logp: only((i) => -(tag * 100 + i)),
    values: only((i) => tag + i / 100),
    advantages: new Float32Array(mask.length),
    targets: new Float32Array(mask.length),
  };
}

/** The segment that goes on where `before` ended: the same tokens, then new ones; only the last is trained. */
function continued(before: Segment, tag: number): Segment {
  const more = segmentOf([...new Array(before.ids.length).fill(0), 0, 0, 1], tag);
  more.ids.set(before.ids);
  return more;
}

const masks = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 12 }).map((m) => [0, ...m, 1]);
const rolloutLists = fc
  .array(fc.array(fc.tuple(masks, fc.boolean()), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  .map((lists) =>
    lists.map((list, n) => {
      const segments: Segment[] = [];
      for (const [mask, goesOn] of list) {
        const tag = n * 10 + segments.length;
        const before = segments[segments.length - 1];
        segments.push(before && goesOn ? continued(before, tag) : segmentOf(mask, tag));
      }
      return { segments } as unknown as Rollout;
    }),
  );

test('every trainable token is found again, behind the prefix it has in its segment', () => {
  fc.assert(
    fc.property(rolloutLists, (rollouts) => {
      const rows = packRollouts(rollouts);
      const segments = rollouts.flatMap((r) => r.segments);
      segments.forEach((segment, s) => {
        const start = rows.rowStart[rows.segmentRow[s]!]!;
        const end = rows.rowStart[rows.segmentRow[s]! + 1]!;
        const [from, to] = [rows.trainableStart[s]!, rows.trainableStart[s + 1]!];
        const places = [...segment.mask.keys()].filter((i) => segment.mask[i] === 1);
        expect([...rows.trainable.subarray(from, to)]).toEqual(places.map((i) => start + i));
        // The same tokens at the same positions: what a causal model sees before each token is the same.
        expect([...rows.ids.subarray(start, Math.min(end, start + segment.ids.length))]).toEqual([...segment.ids]);
        expect([...rows.oldLogp.subarray(from, to)]).toEqual(places.map((i) => segment.logp[i]));
        expect([...rows.decodeValues.subarray(from, to)]).toEqual(places.map((i) => segment.values[i]));
      });
      expect([...rows.trainable]).toEqual([...rows.trainable].sort((a, b) => a - b));
    }),
  );
});

test('rows hold nothing twice: only a segment that the next one continues shares its row', () => {
  fc.assert(
    fc.property(rolloutLists, (rollouts) => {
      const rows = packRollouts(rollouts);
      const own = rollouts.flatMap(({ segments }) =>
        segments.filter((s, i) => {
          const next = segments[i + 1];
          return !next || [...s.ids].some((id, k) => next.ids[k] !== id);
        }),
      );
      expect([...rows.ids]).toEqual(own.flatMap((s) => [...s.ids]));
      expect(rows.rowStart).toHaveLength(own.length + 1);
    }),
  );
});

test.each([
  ['another rollout', [[segmentOf([0, 1], 0)], [continued(segmentOf([0, 1], 0), 1)]]],
  ['a segment that trains the common tokens too', [[segmentOf([0, 1], 0), segmentOf([0, 1, 1], 0)]]],
  ['one token that differs', [[segmentOf([0, 1], 0), continued(segmentOf([0, 1], 1), 2)]]],
  ['a shorter segment', [[segmentOf([0, 1, 1], 0), segmentOf([0, 1], 0)]]],
] as [string, Segment[][]][])('%s does not share a row', (_, lists) => {
  const rows = packRollouts(lists.map((segments) => ({ segments }) as unknown as Rollout));
  expect(rows.rowStart).toHaveLength(3);
});

test('a minibatch holds the chosen rollouts whole, in order, with their numbers', () => {
  fc.assert(
    fc.property(rolloutLists, fc.infiniteStream(fc.boolean()), (rollouts, coin) => {
      const rows = packRollouts(rollouts);
      const chosen = rollouts.map((_, n) => n).filter(() => coin.next().value);
      const tag = Float32Array.from(rows.trainable, (i) => rows.ids[i]!);
      const tokens = { oldLogp: rows.oldLogp, advantages: tag, targets: tag, oldValues: tag };
      const batch = selectRollouts(rows, tokens, [...chosen].reverse());
      const only = packRollouts(chosen.map((n) => rollouts[n]!));
      expect([...batch.ids]).toEqual([...only.ids]);
      expect([...batch.rowStart]).toEqual([...only.rowStart]);
      expect([...batch.trainable]).toEqual([...only.trainable]);
      expect([...batch.trainableStart]).toEqual([...only.trainableStart]);
      expect([...batch.kind]).toEqual([...only.kind]);
      expect([...batch.advantages]).toEqual([...batch.trainable].map((i) => batch.ids[i]));
      expect([...batch.rollout]).toEqual(chosen.flatMap((n) => rollouts[n]!.segments.map(() => n)));
    }),
  );
});

test('what is written back lands on the token it belongs to, and nowhere else', () => {
  fc.assert(
    fc.property(rolloutLists, (rollouts) => {
      const rows = packRollouts(rollouts);
      writeBack(
        rows,
        'advantages',
        Float32Array.from(rows.trainable, (i) => rows.ids[i]!),
      );
      for (const { segments } of rollouts)
        for (const s of segments) expect([...s.advantages]).toEqual([...s.ids].map((id, i) => (s.mask[i] ? id : 0)));
    }),
  );
});
