/** Which tasks a run sees: a function of configuration, seed, split and number, shared by all arms. */
import type { RunConfig } from '../../core/config/config';
import type { Split, TaskInstance, TaskTracker } from '../../env/task';
import { familyOf, generateTask } from '../../env/tasks';
import type { EpisodeSetup } from './episode-setup';

/** Task number `from` … `from + count − 1` of a split. */
export function drawTasks(config: RunConfig, seed: number, split: Split, from: number, count: number): TaskInstance[] {
  const { suite: tasks, difficultyMin, difficultyMax } = config;
  return Array.from({ length: count }, (_, i) =>
    generateTask({ tasks, seed, split, index: from + i, difficultyMin, difficultyMax }),
  );
}

/** A fresh tracker: the scripted expert of the task, and the bookkeeping of its facts. */
export function trackerOf(task: TaskInstance, config: Pick<RunConfig, 'keepTask'>): TaskTracker {
  return familyOf(task.family).tracker(task, { keepTask: config.keepTask });
}

/** The episodes of a training iteration: groups of the same task. @param config of training rollouts */
export function trainingSetups(config: RunConfig, seed: number, iteration: number): EpisodeSetup[] {
  const groups = config.episodes / config.groupSize;
  const tasks = drawTasks(config, seed, 'train', iteration * groups, groups);
  return Array.from({ length: config.episodes }, (_, i) => {
    const group = Math.floor(i / config.groupSize);
    const task = tasks[group]!;
    return {
      id: iteration * config.episodes + i,
      split: 'train',
      iteration,
      taskIndex: iteration * groups + group,
      task,
      tracker: trackerOf(task, config),
      compactionsRequired: null,
      config,
    };
  });
}
