/**
 * A scripted player on a task, under the window's budget but without a model: how long texts are, how often a context is
 * compacted, and what players that ignore their summaries reach. The token accounting is that of the rollout
 * (docs/algorithm.md section 1): trigger after a complete step, reserve for action, observation, request and summary.
 */
import { cutObservation, decode, encode } from '../core/tokenizer';
import type { TaskInstance, TaskTracker } from './task';
import { familyOf } from './tasks';
import { Terminal } from './terminal';

/** Token budgets, as in the configuration table. */
export interface RehearsalRules {
  readonly window: number;
  /** End-of-command token included. */
  readonly actionCap: number;
  /** Next prompt included. */
  readonly observationCap: number;
  /** Stop token included. */
  readonly summaryCap: number;
  readonly keepTask: boolean;
  /** Turn limit = minTurns + turnSlack. */
  readonly turnSlack: number;
}

/** Who plays. */
export interface Player {
  /** @param last whether this is the last turn before the limit */
  act(tracker: TaskTracker, last: boolean): string;
  summarise(facts: readonly string[]): string;
}

/** The expert that forgets nothing. */
export const perfectPlayer: Player = {
  act: (tracker) => tracker.next(),
  summarise: (facts) => facts.join(' '),
};

export interface Rehearsal {
  readonly solved: boolean;
  readonly turns: number;
  readonly compactions: number;
  /** Tokens of every action, end-of-command token included. */
  readonly actionTokens: readonly number[];
  /** Tokens of every observation, uncut. */
  readonly observationTokens: readonly number[];
  /** Tokens of every summary, stop token included. */
  readonly summaryTokens: readonly number[];
  readonly instructionTokens: number;
  /** Tokens of the whole episode if it stood in one context. */
  readonly totalTokens: number;
}

/** Plays one task to its end in this thread. */
export async function rehearse(task: TaskInstance, rules: RehearsalRules, player: Player): Promise<Rehearsal> {
  const { window, actionCap, observationCap, summaryCap, keepTask, turnSlack } = rules;
  const family = familyOf(task.family);
  const tracker = family.tracker(task, { keepTask });
  const { files, commands, seed, index } = task;
  const terminal = await Terminal.open({ files, commands, seed, stream: index });
  const instructionTokens = encode(task.instruction).length;
  const reserve = actionCap + observationCap + 1 + summaryCap;
  const turnLimit = task.minTurns + turnSlack;
  const tokens = { action: [] as number[], observation: [] as number[], summary: [] as number[] };
  // `bos`, `task` and the instruction.
  let context = 2 + instructionTokens;
  let total = context;
  const ended = (turns: number, solved: boolean): Rehearsal => ({
    solved,
    turns,
    compactions: tokens.summary.length,
    actionTokens: tokens.action,
    observationTokens: tokens.observation,
    summaryTokens: tokens.summary,
    instructionTokens,
    totalTokens: total,
  });
  for (let turns = 1; turns <= turnLimit; turns++) {
    const command = player.act(tracker, turns === turnLimit);
    const result = await terminal.run(command);
    const observation = encode(result.output);
    tokens.action.push(encode(command).length + 1);
    tokens.observation.push(observation.length);
    if (result.limit) return ended(turns, false);
    if (result.exited) {
      terminal.home();
      return ended(turns, (await family.verify(task, terminal)) === 1);
    }
    const seen = cutObservation(observation, observationCap - 1);
    tracker.observe(command, decode(seen));
    // The prompt `act`, the action and its stop token, the observation.
    const step = 1 + Math.min(actionCap, encode(command).length + 1) + seen.length;
    context += step;
    total += step;
    if (window - context >= reserve) continue;
    const summary = encode(player.summarise(tracker.facts()));
    const kept = summary.slice(0, summaryCap - 1);
    tokens.summary.push(summary.length + 1);
    tracker.resume(decode(kept));
    context = 2 + (keepTask ? 1 + instructionTokens : 0) + kept.length;
    if (window - context < reserve) return ended(turns, false);
  }
  return ended(turnLimit, false);
}
