import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Rollout, Segment } from '../../src/core/trajectory';
import { packRollouts, selectRollouts, writeBack } from '../../src/run/batch';

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

const masks = fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 12 }).map((m) => [0, ...m, 1]);
const rolloutLists = fc
  .array(fc.array(masks, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  .map((lists) =>
    lists.map((list, n) => ({ segments: list.map((m, s) => segmentOf(m, n * 10 + s)) }) as unknown as Rollout),
  );

test('packing keeps every token, and finds each trainable one again', () => {
  fc.assert(
    fc.property(rolloutLists, (rollouts) => {
      const rows = packRollouts(rollouts);
      const segments = rollouts.flatMap((r) => r.segments);
      expect([...rows.ids]).toEqual(segments.flatMap((s) => [...s.ids]));
      const expected = segments.flatMap((s) => [...s.ids].filter((_, i) => s.mask[i] === 1));
      expect([...rows.trainable].map((i) => rows.ids[i])).toEqual(expected);
      expect([...rows.oldLogp]).toEqual(expected.map((id) => -id));
    }),
  );
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
