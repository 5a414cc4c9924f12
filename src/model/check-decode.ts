/** The checks that every call of decoding passes first, whichever engine decodes. */
import { LabError } from '../core/errors';
import type { DecodeJob } from './engine';
import type { ModelShape } from './parameters';

/** @throws `decode.length` when a cache slot would have more positions than the model has learned, or there would be none */
export function checkSlots(shape: ModelShape, slots: number, positions: number): void {
  if (positions <= shape.positions && slots >= 1 && positions >= 1) return;
  throw new LabError({
    code: 'decode.length',
    what: 'A cache slot cannot have that many positions',
    expected: `at least one slot and 1 to ${shape.positions} positions, as many as the model has learned`,
    got: `${slots} slots of ${positions} positions`,
  });
}

/**
 * Checks jobs against the cache: slots, lengths, token ids, continuity.
 * @param filled [slots] cache positions that hold a key and value
 * @throws `decode.slot | decode.feed | decode.start | decode.length | decode.cap`
 */
export function checkJobs(shape: ModelShape, jobs: readonly DecodeJob[], filled: Uint32Array, positions: number): void {
  const seen = new Set<number>();
  for (const [i, job] of jobs.entries()) {
    const failure = (code: string, what: string, expected: string, got: unknown) =>
      new LabError({ code: `decode.${code}`, what, where: `decode job ${i}`, expected, got: String(got) });
    const { slot, start, feed, cap } = job;
    const known = filled[slot];
    if (known === undefined)
      throw failure('slot', 'There is no such cache slot', `one of the ${filled.length} slots opened`, slot);
    if (seen.has(slot)) throw failure('slot', 'A cache slot is used twice in one call', 'each at most once', slot);
    seen.add(slot);
    if (feed.length === 0) throw failure('feed', 'A decode job feeds nothing', 'at least one token', 0);
    if (!Number.isInteger(cap) || cap < 1) throw failure('cap', 'A decode job may not sample', 'a cap ≥ 1', cap);
    if (!Number.isInteger(start) || start < 0 || start > known)
      throw failure('start', 'A decode job continues beyond what its slot holds', `a start ≤ ${known}`, start);
    // The last sampled token is never fed, so it needs no position.
    const needed = start + feed.length + cap - 1;
    if (needed > positions)
      throw failure('length', 'A decode job does not fit into its slot', `at most ${positions} positions`, needed);
    for (const id of start > 0 ? [job.previous, ...feed] : feed)
      if (!(id >= 0 && id < shape.vocabulary))
        throw failure('feed', 'A fed token is not in the vocabulary', `an id below ${shape.vocabulary}`, id);
  }
}
