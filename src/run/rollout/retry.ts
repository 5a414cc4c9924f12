/**
 * Several attempts at one task, each a rollout of its own, with or without a note in between (docs/algorithm.md
 * section 8). The note is a row of the attempt that reads it: that attempt's reward is what it is good for.
 */
import { NOTE_REQUEST_TOKENS, type RunConfig } from '../../core/config/config';
import { Episode } from './episode';
import type { EpisodeSetup } from './episode-setup';
import { trackerOf } from './tasks';

/** Whether notes are written between attempts. */
export function writesNotes(config: Pick<RunConfig, 'attempts' | 'retryNote'>): boolean {
  return config.attempts > 1 && config.retryNote === 'written';
}

/**
 * The first attempt of a task try.
 * @param setup `id`: number of the try; the ids of its attempts are `id · attempts`, `id · attempts + 1`, …
 * @returns the setup itself where there is one attempt
 */
export function firstAttempt(setup: EpisodeSetup): EpisodeSetup {
  const { attempts } = setup.config;
  return attempts === 1 ? setup : { ...setup, id: setup.id * attempts, attempt: 1 };
}

/**
 * The attempt after one that has ended: the same files, nothing known but the note. Its tokens depend on the attempt before
 * and on its own id alone.
 * @returns undefined after a success and after the last attempt
 */
export function nextAttempt(ended: Episode): Episode | undefined {
  const { setup, solved } = ended;
  const { config, attempt = 1 } = setup;
  if (solved || attempt >= config.attempts) return undefined;
  return new Episode({
    ...setup,
    id: setup.id + 1,
    attempt: attempt + 1,
    tracker: trackerOf(setup.task, config),
    noteAfter: writesNotes(config) ? ended.lastContext(NOTE_REQUEST_TOKENS + config.summaryCap) : undefined,
  });
}
