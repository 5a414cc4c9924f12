import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import { createNodePool } from '../../src/env/pool-node';
import { familyOf, generateTask } from '../../src/env/tasks';
import { buildWorkers } from './env-workers/build';

let scripts: Record<'real' | 'hostile', URL>;
const open: TerminalPool[] = [];

beforeAll(async () => {
  scripts = await buildWorkers({
    real: 'src/env/terminal-worker-node.ts',
    hostile: 'test/unit/env-workers/hostile-worker.ts',
  });
}, 60_000);

afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

async function pool(workers: number, script: keyof typeof scripts = 'real', commandTimeoutMs?: number) {
  const made = await createNodePool({
    workers,
    script: scripts[script],
    ...(commandTimeoutMs && { commandTimeoutMs }),
  });
  open.push(made);
  return made;
}

const tasks = (count: number, name = 'terminal') =>
  Array.from({ length: count }, (_, index) =>
    generateTask({ tasks: name, seed: 1, split: 'train', index, difficultyMin: 1, difficultyMax: 4 }),
  );

/** Experts play all environments to the end; returns everything the terminals said. */
async function play(terminals: TerminalPool, count: number) {
  const players = tasks(count).map((task, env) => ({
    env,
    task,
    tracker: familyOf(task.family).tracker(task, { keepTask: true }),
  }));
  await terminals.open(players.map(({ env, task }) => ({ env, task })));
  const log: unknown[] = [];
  for (let active = players; active.length > 0; ) {
    const batch = active.map(({ env, tracker }) => ({ env, command: tracker.next() }));
    const results = await terminals.run(batch);
    log.push(results);
    active.forEach(({ tracker }, i) => {
      tracker.observe(batch[i]!.command, results[i]!.output);
    });
    active = active.filter((_, i) => !results[i]!.exited);
  }
  const scores = await terminals.verify(players.map(({ env }) => env));
  return { log, scores };
}

describe('the number of workers', () => {
  test('0, 1 and 2 workers give the same bytes, and every expert solves its task', async () => {
    const results = [];
    for (const workers of [0, 1, 2]) results.push(await play(await pool(workers), 9));
    expect(results[0]!.scores).toEqual(Array(9).fill(1));
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });

  test('clock and dice do not depend on it, nor on what ran before', async () => {
    const commands = [
      'echo $RANDOM $RANDOM',
      'echo $RANDOM $SECONDS',
      'time echo',
      'echo $((RANDOM)) $EPOCHSECONDS $$',
    ];
    const outputs = [];
    for (const workers of [0, 1, 2]) {
      const terminals = await pool(workers);
      await terminals.open(tasks(3).map((task, env) => ({ env, task })));
      // With 1 worker, environment 2 shares it with 0 and 1; with 2 it shares it with 0.
      const seen = [];
      for (const command of commands) {
        seen.push((await terminals.run([0, 1, 2].map((env) => ({ env, command })))).map((r) => r.output));
      }
      outputs.push(seen);
    }
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[2]).toEqual(outputs[0]);
    expect(new Set(outputs[0]![0]).size).toBe(3);
  });

  test('results stand in the order of the batch', async () => {
    const terminals = await pool(2);
    await terminals.open(tasks(4).map((task, env) => ({ env, task })));
    const order = [3, 0, 2, 1];
    const results = await terminals.run(order.map((env) => ({ env, command: `echo ${env}` })));
    expect(results.map((r) => r.output)).toEqual(['3\n', '0\n', '2\n', '1\n']);
  });

  test('workers without a way to start them are refused', () => {
    expect(() => createTerminalPool({ workers: 2 })).toThrow(/spawn/);
  });
});

describe('a worker that hangs or dies', () => {
  test.each(['hang', 'die'])(
    '%s ends that episode; its neighbours go on as if nothing had happened',
    async (command) => {
      const terminals = await pool(1, 'hostile', 400);
      await terminals.open(tasks(3).map((task, env) => ({ env, task })));
      await terminals.run([0, 1, 2].map((env) => ({ env, command: `echo ${env} > mark; cd /tmp` })));
      const results = await terminals.run([
        { env: 0, command: 'echo before >> /work/mark' },
        { env: 1, command },
        { env: 2, command: 'echo after >> /work/mark; cat /work/mark' },
      ]);
      expect(results[1]).toMatchObject({ limit: 'time', killed: true, exited: false });
      expect(results[2]).toMatchObject({ output: '2\nafter\n', exitCode: 0 });
      expect(terminals.kills).toBe(1);
      // Replayed exactly once, working directory included.
      const after = await terminals.run(
        [0, 2, 1].map((env) => ({ env, command: 'cat /work/mark; cd ..; cat work/mark' })),
      );
      expect(after.map((r) => r.output)).toEqual(['0\nbefore\n0\nbefore\n', '2\nafter\n2\nafter\n', 'Killed\n']);
      expect(await terminals.verify([1])).toEqual([0]);
      // A new episode in the same place starts afresh.
      await terminals.open([{ env: 1, task: tasks(2)[1]! }]);
      expect((await terminals.run([{ env: 1, command: 'echo alive' }]))[0]).toMatchObject({ output: 'alive\n' });
    },
  );

  test('commands of one environment in one batch: behind the one that hangs, all are killed', async () => {
    const terminals = await pool(1, 'hostile', 400);
    await terminals.open(tasks(2).map((task, env) => ({ env, task })));
    const results = await terminals.run(
      ['echo 1', 'hang', 'echo 2'].map((command) => ({ env: 0, command })).concat({ env: 1, command: 'echo 3' }),
    );
    expect(results.map((r) => r.output)).toEqual(['1\n', 'Killed\n', 'Killed\n', '3\n']);
    expect(terminals.kills).toBe(1);
  });

  test('a worker that cannot be loaded is one clear error', async () => {
    const terminals = await createNodePool({ workers: 1, script: new URL('file:///nowhere/worker.mjs') });
    open.push(terminals);
    await expect(terminals.open([{ env: 0, task: tasks(1)[0]! }])).rejects.toMatchObject({
      code: 'terminal.worker-died',
    });
  });

  test('closing rejects what is pending', async () => {
    const terminals = await pool(1, 'hostile');
    await terminals.open(tasks(1).map((task, env) => ({ env, task })));
    const pending = expect(terminals.run([{ env: 0, command: 'hang' }])).rejects.toMatchObject({
      code: 'terminal.closed',
    });
    await terminals.close();
    await pending;
    await expect(terminals.run([{ env: 0, command: 'echo' }])).rejects.toThrow(/closed/);
  });

  test('an error of the service keeps its parts', async () => {
    for (const workers of [0, 1]) {
      const terminals = await pool(workers);
      await expect(terminals.run([{ env: 5, command: 'echo' }])).rejects.toMatchObject({ code: 'terminal.not-open' });
    }
  });
});
