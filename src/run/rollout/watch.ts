/** The live view: turns one episode's tokens into watch events. */
import { compactThreshold, type RunConfig } from '../../core/config/config';
import type { WatchEvent } from '../../core/protocol/protocol';
import { decode } from '../../core/tokenizer/tokenizer';
import type { Episode } from './episode';

/**
 * Watches an episode that has not begun.
 * @returns a function that sends what has gathered since its last call
 */
export function watchEpisode(
  episode: Episode,
  config: RunConfig,
  send: (events: readonly WatchEvent[]) => void,
): () => void {
  const initial = episode.initialContext();
  let events: WatchEvent[] = [
    {
      type: 'start',
      rollout: episode.setup.id,
      instruction: episode.task.instruction,
      window: config.window,
      reserve: compactThreshold(config),
      turnLimit: episode.turnLimit,
    },
    { type: 'tokens', kind: 'context', ids: initial, text: decode(initial) },
  ];
  let compactions = 0;
  let ended = false;
  episode.onTokens = (kind, ids) => {
    const record = episode.compactions[compactions];
    if (kind === 'context' && record) {
      compactions++;
      const { summary, tokensBefore, tokensAfter } = record;
      events.push({ type: 'compact', summary, tokensBefore, tokensAfter });
    }
    events.push({ type: 'tokens', kind, ids: [...ids], text: decode(ids) });
  };
  return () => {
    if (episode.stop && !ended) {
      ended = true;
      events.push({ type: 'end', stop: episode.stop, reward: episode.reward });
    }
    if (events.length > 0) send(events);
    events = [];
  };
}
