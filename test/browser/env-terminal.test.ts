/** Terminals in the browser: just-bash over the zlib shim, in real workers; the same bytes as in this thread. */
import { afterAll, describe, expect, test } from 'vitest';
import type { TerminalPool } from '../../src/env/pool';
import { createBrowserPool } from '../../src/env/pool-browser';
import { familyOf, generateTask } from '../../src/env/tasks';

const opened: TerminalPool[] = [];
const tasks = [0, 1, 2, 3].map((index) =>
  generateTask({
    tasks: index < 2 ? 'terminal' : 'code',
    seed: 1,
    split: 'train',
    index,
    difficultyMin: 2,
    difficultyMax: 3,
  }),
);

async function play(workers: number) {
  const pool = await createBrowserPool({ workers });
  opened.push(pool);
  await pool.open(tasks.map((task, env) => ({ env, task })));
  const transcript = [];
  for (const [env, task] of tasks.entries()) {
    const tracker = familyOf(task.family).tracker(task, { keepTask: true });
    for (let turn = 0; turn < task.minTurns; turn++) {
      const command = tracker.next();
      const [result] = await pool.run([{ env, command }]);
      tracker.observe(command, result!.output);
      transcript.push({ command, ...result });
    }
  }
  const scores = await pool.verify(tasks.map((_, env) => env));
  for (const command of ['echo $RANDOM', 'time echo', 'while true; do :; done', 'nope', 'cat <<E\nhé 🌋\nE']) {
    transcript.push(...(await pool.run([{ env: 0, command }])));
  }
  return { transcript, scores };
}

afterAll(async () => {
  for (const pool of opened) await pool.close();
});

describe('terminal workers in the browser', () => {
  test('experts solve their tasks, with the same bytes for any number of workers', async () => {
    const inPage = await play(0);
    expect(inPage.scores).toEqual([1, 1, 1, 1]);
    expect(await play(1)).toEqual(inPage);
    expect(await play(2)).toEqual(inPage);
  });

  test('workers that never answer in time are one clear error, not a hang', async () => {
    // A time limit in the past makes every answer late.
    const pool = await createBrowserPool({ workers: 1, commandTimeoutMs: -200 });
    opened.push(pool);
    await expect(pool.open([{ env: 0, task: tasks[0]! }])).rejects.toMatchObject({ code: 'terminal.worker-died' });
  });
});
