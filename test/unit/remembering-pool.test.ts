import { afterEach, describe, expect, test } from 'vitest';
import { RandomStream } from '../../src/core/rng';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import { rememberingPool } from '../../src/env/remembering-pool';
import { familyOf, generateTask } from '../../src/env/tasks';

const open: TerminalPool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

/** Shells in this thread, counting what they are asked. */
function counted() {
  const pool = createTerminalPool({ workers: 0 });
  open.push(pool);
  const calls = { opened: 0, ran: 0, verified: 0 };
  const spy: TerminalPool = {
    workers: 0,
    get kills() {
      return pool.kills;
    },
    open: (batch) => {
      calls.opened += batch.length;
      return pool.open(batch);
    },
    run: (batch) => {
      calls.ran += batch.length;
      return pool.run(batch);
    },
    verify: (envs) => {
      calls.verified += envs.length;
      return pool.verify(envs);
    },
    release: (envs) => pool.release(envs),
    close: () => pool.close(),
  };
  return { spy, calls };
}

const task = (index: number, tasks = 'repair') =>
  generateTask({ tasks, seed: 3, split: 'train', index, difficultyMin: 1, difficultyMax: 3 });

/** Plays six environments with commands that are often the expert's and sometimes another; everything that was answered. */
async function play(pool: TerminalPool, seed: number) {
  const players = Array.from({ length: 6 }, (_, env) => {
    // Environments 0 and 3, 1 and 4, 2 and 5 hold the same task.
    const own = task(env % 3, env % 2 === 0 ? 'repair' : 'manifest');
    const tracker = familyOf(own.family).tracker(own, { keepTask: true });
    return { env, task: own, tracker, random: new RandomStream(seed, 'test', env) };
  });
  await pool.open(players.map(({ env, task: own }) => ({ env, task: own })));
  const log: unknown[] = [];
  for (let turn = 0; turn < 8; turn++) {
    const batch = players.map(({ env, task: own, tracker, random }) => ({
      env,
      command:
        random.uniform() < 0.3
          ? familyOf(own.family).randomCommand(own, random)
          : random.uniform() < 0.1
            ? `echo $RANDOM >> note; cat note; cd ..; pwd; false`
            : tracker.next().replace('; exit', ''),
    }));
    const answers = await pool.run(batch);
    log.push(answers);
    players.forEach(({ tracker }, i) => {
      tracker.observe(batch[i]!.command, answers[i]!.output);
    });
  }
  log.push(await pool.verify(players.map(({ env }) => env)));
  return log;
}

describe('a pool that remembers', () => {
  test('answers as one that does not, on known paths, off them and after leaving them', async () => {
    const plain = counted();
    const inner = counted();
    const remembering = rememberingPool(inner.spy);
    for (const seed of [1, 2, 1, 3, 2, 1]) expect(await play(remembering, seed)).toEqual(await play(plain.spy, seed));
    expect(inner.calls.ran).toBeLessThan(plain.calls.ran);
    expect(inner.calls.verified).toBeLessThan(plain.calls.verified);
  });

  test('a path gone before asks no shell at all', async () => {
    const { spy, calls } = counted();
    const remembering = rememberingPool(spy);
    await play(remembering, 5);
    const before = { ...calls };
    await play(remembering, 5);
    expect(calls).toEqual(before);
  });

  test('what does not fit its memory is forgotten, not confused', async () => {
    const plain = counted();
    const remembering = rememberingPool(counted().spy, 3);
    for (const seed of [1, 1, 2]) expect(await play(remembering, seed)).toEqual(await play(plain.spy, seed));
  });

  test('an answer that the wall clock gave is given once', async () => {
    const { spy } = counted();
    let kill = true;
    const remembering = rememberingPool({
      ...spy,
      run: async (batch) => {
        const answers = await spy.run(batch);
        return kill ? answers.map((answer) => ({ ...answer, output: 'Killed\n', killed: true as const })) : answers;
      },
    });
    const ask = async () => {
      await remembering.open([{ env: 0, task: task(0) }]);
      return (await remembering.run([{ env: 0, command: 'echo well' }]))[0]!.output;
    };
    expect(await ask()).toBe('Killed\n');
    kill = false;
    expect(await ask()).toBe('well\n');
  });

  test('a share that may come from a verifier the wall clock ended is asked for again', async () => {
    const { spy } = counted();
    let kills = 0;
    const remembering = rememberingPool({
      ...spy,
      get kills() {
        return kills;
      },
      verify: async (envs) => {
        const shares = await spy.verify(envs);
        if (kills > 0) return shares;
        kills++;
        return shares.map(() => 0.25);
      },
    });
    const share = async () => {
      await remembering.open([{ env: 0, task: task(0) }]);
      return (await remembering.verify([0]))[0]!;
    };
    expect(await share()).toBe(0.25);
    expect(await share()).not.toBe(0.25);
  });

  test('an environment that was never opened is an error', async () => {
    await expect(rememberingPool(counted().spy).run([{ env: 7, command: 'pwd' }])).rejects.toMatchObject({
      code: 'terminal.not-open',
    });
  });
});
