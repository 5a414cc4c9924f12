/** Real episodes as recordings: the base policy and the trained one on the same held-out tasks, with the same draws. */
import type { RunConfig } from '../../core/config/config';
import type { Frame, RecordedEpisode } from '../../core/recording/recording';
import { decode, decodeCommand } from '../../core/tokenizer/tokenizer';
import type { TaskTracker } from '../../env/task';
import { setupOf } from '../expert/expert';
import type { Episode } from '../rollout/episode';
import { type RolloutOptions, rollOut } from '../rollout/rollout';
import { drawTasks } from '../rollout/tasks';
import { evalConfig } from '../trainer/evaluate';

/** What a compaction did to the facts that were known and still needed. */
interface Fates {
  readonly kept: readonly string[];
  readonly lost: readonly string[];
}

/** A tracker that also notes what each summary kept and lost. */
function noting(tracker: TaskTracker, fates: Fates[]): TaskTracker {
  return {
    observe: (command, output) => tracker.observe(command, output),
    facts: () => tracker.facts(),
    next: () => tracker.next(),
    guess: (random) => tracker.guess(random),
    resume: (summary) => {
      const needed = tracker.facts();
      tracker.resume(summary);
      const known = new Set(tracker.facts());
      fates.push({
        kept: needed.filter((fact) => known.has(fact)),
        lost: needed.filter((fact) => !known.has(fact)),
      });
    },
  };
}

const outcomes: Readonly<Record<NonNullable<Episode['stop']>, string>> = {
  solved: 'the check of the files passed',
  failed: 'the check of the files did not pass',
  'turn-limit': 'no turns were left',
  'command-limit': 'a command went beyond its limits',
  'window-full': 'the window had no room for another command',
  'resume-too-long': 'what followed the summary left no room for another command',
};

/** Writes down what an episode does from its beginning on. @returns gives the recording of the finished episode */
function record(episode: Episode, fates: readonly Fates[], policy: 'base' | 'trained'): () => RecordedEpisode {
  const frames: Frame[] = [
    { kind: 'instruction', text: episode.task.instruction, context: episode.initialContext().length },
  ];
  let folds = 0;
  const fold = () => {
    const compaction = episode.compactions[folds];
    if (!compaction) return;
    const { kept, lost } = fates[folds++]!;
    const { summary, tokensBefore: before, tokensAfter: after } = compaction;
    frames.push({ kind: 'fold', summary, before, after, kept: [...kept], lost: [...lost] });
  };
  episode.onTokens = (kind, ids) => {
    const context = episode.contextTokens;
    // The last token of an action ends it and is no part of the command.
    if (kind === 'action') frames.push({ kind: 'command', text: decodeCommand(ids.slice(0, -1)), context });
    else if (kind === 'observation' && ids.length > 0)
      frames.push({ kind: 'output', text: decode(ids).trimEnd(), context });
    else if (kind === 'context') fold();
  };
  return () => {
    fold(); // no context follows a summary that leaves no room
    const { stop, solved: success, reward, contextTokens: context } = episode;
    if (!stop) throw new Error('the episode has not ended');
    return {
      policy,
      success,
      reward,
      stop,
      frames: [...frames, { kind: 'end', text: outcomes[stop], success, context }],
    };
  };
}

export interface RecordOptions extends Pick<RolloutOptions, 'engine' | 'pool' | 'seed' | 'gate'> {
  readonly config: RunConfig;
  /** Held-out tasks 0 … tasks − 1 are played. */
  readonly tasks: number;
  /** Which policy the engine holds. */
  readonly policy: 'base' | 'trained';
}

/** Plays held-out tasks with compaction on, as an evaluation does. @returns one recording a task, in task order */
export async function recordEpisodes(options: RecordOptions): Promise<RecordedEpisode[]> {
  const { engine, pool, seed, gate, policy, tasks } = options;
  const config = evalConfig(options.config, 'comp');
  const fates = new Map<number, Fates[]>();
  const setups = drawTasks(config, seed, 'eval', 0, tasks).map((task, i) => {
    const setup = setupOf(task, i, config);
    const list: Fates[] = [];
    fates.set(i, list);
    return { ...setup, tracker: noting(setup.tracker, list) };
  });
  const ends: (() => RecordedEpisode)[] = [];
  const observe = (episodes: readonly Episode[]) => {
    ends.push(...episodes.map((episode, i) => record(episode, fates.get(i)!, policy)));
    return () => {};
  };
  await rollOut(setups, { engine, pool, config, seed, gate, observe, summaryRole: 'policy', purpose: 'evalSample' });
  return ends.map((end) => end());
}
