/** `lab tasks expert`: the scripted expert on one task in the real shell, reported step by step. */
import type { RunConfig } from '../core/config/config';
import { encode } from '../core/tokenizer/tokenizer';
import { createTerminalPool } from '../env/pool';
import type { TaskInstance } from '../env/task';
import { decideAs, expert, requiredCompactions, setupOf } from '../run/expert/expert';
import { Episode } from '../run/rollout/episode';
import { runLockstep } from '../run/rollout/rollout';
import type { Arguments } from './command';

/** What a task is, without its files. */
export function describeTask(task: TaskInstance): Record<string, unknown> {
  const { family, difficulty, split, seed, index, minTurns, instruction, commands } = task;
  return { family, difficulty, split, seed, index, minTurns, instruction, commands };
}

/** Prints one line per step and per compaction, as they happen, then one line with `done`. */
export async function reportExpert(args: Arguments, task: TaskInstance, config: RunConfig): Promise<void> {
  const pool = createTerminalPool({ workers: 0 });
  const gate = async () => args.signal.throwIfAborted();
  try {
    const [compactionsRequired] = await requiredCompactions([task], config, pool, gate);
    const episode = new Episode(setupOf(task, 0, config, compactionsRequired));
    args.print({
      ...describeTask(task),
      compactionsRequired,
      turnLimit: episode.turnLimit,
      window: config.window,
      contextTokens: episode.contextTokens,
    });
    let steps = 0;
    let compactions = 0;
    const report = () => {
      for (; steps < episode.steps.length; steps++) {
        const { command, output, exitCode } = episode.steps[steps]!;
        args.print({
          step: steps + 1,
          command,
          output,
          exitCode,
          commandTokens: encode(command).length + 1, // with its end-of-command token
          outputTokens: encode(output).length, // uncut
          contextTokens: episode.contextTokens,
        });
      }
      for (; compactions < episode.compactions.length; compactions++) {
        const record = episode.compactions[compactions]!;
        args.print({
          compaction: compactions + 1,
          ...record,
          summaryTokens: encode(record.summary).length + 1, // with its stop token
        });
      }
    };
    const [rollout] = await runLockstep([episode], { pool, gate, decide: decideAs(expert), onWave: report });
    const { solved, stop, reward, turnLimit, fedTokens } = rollout!;
    args.print({ done: true, solved, stop, reward, turns: steps, turnLimit, compactions, fedTokens });
  } finally {
    await pool.close();
  }
}
