/** Episodes in flight: groups, seats, pauses and failures, with scripted players in real shells. */
import { afterAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { createTerminalPool, type TerminalPool } from '../../src/env/pool';
import { decideAs, expert, setupOf } from '../../src/run/expert/expert';
import { tinyContext } from '../../src/run/presets/presets';
import { Episode } from '../../src/run/rollout/episode';
import { groupsFor, type LockstepOptions, runLockstep } from '../../src/run/rollout/rollout';
import { drawTasks } from '../../src/run/rollout/tasks';
import { Control, Stopped } from '../../src/run/trainer/control';

const config = parseConfig({ ...tinyContext });
const pool = createTerminalPool({ workers: 0 });
afterAll(() => pool.close());

const episodes = (count: number) =>
  drawTasks(config, 5, 'train', 0, count).map((task) => new Episode(setupOf(task, task.index, config)));
const calm = async () => {};
const play = (count: number, options: Partial<LockstepOptions> = {}) =>
  runLockstep(episodes(count), { pool, gate: calm, decide: decideAs(expert), ...options });

/** Counts calls that have not ended. */
function counted(target: TerminalPool) {
  const state = { pending: 0, opened: [] as number[] };
  const count = async <T>(call: Promise<T>): Promise<T> => {
    state.pending++;
    try {
      return await call;
    } finally {
      state.pending--;
    }
  };
  const counting: TerminalPool = {
    ...target,
    open: (batch) => {
      state.opened.push(...batch.map(({ env }) => env));
      return count(target.open(batch));
    },
    run: (batch) => count(target.run(batch)),
    verify: (envs) => count(target.verify(envs)),
  };
  return { state, pool: counting };
}

describe('what an episode does depends on itself alone', () => {
  test.each([{ groups: 2 }, { groups: 3, seats: 5 }, { groups: 4, seats: 4 }, { seats: 1 }, { groups: 50 }])(
    '%j: the same rollouts in the same order',
    async (options) => {
      const plain = await play(13);
      expect(new Set(plain.map((r) => r.steps.length)).size).toBeGreaterThan(3);
      expect(plain.every((r) => r.solved)).toBe(true);
      expect(await play(13, options)).toEqual(plain);
    },
  );

  test('no more episodes are in flight than there are seats, and a seat that is free is taken at once', async () => {
    const { state, pool: counting } = counted(pool);
    let waves = 0;
    let most = 0;
    const decide: LockstepOptions['decide'] = async (seats) => {
      waves++;
      most = Math.max(most, seats.length);
      await decideAs(expert)(seats);
    };
    const rollouts = await play(20, { pool: counting, seats: 4, decide });
    const decisions = rollouts.map((r) => r.steps.length + r.compactions.length);
    expect(most).toBe(4);
    expect(new Set(state.opened)).toEqual(new Set([0, 1, 2, 3]));
    // Four seats in chunks of four would wait for the longest of each chunk.
    const chunks = [0, 4, 8, 12, 16].reduce((n, from) => n + Math.max(...decisions.slice(from, from + 4)), 0);
    expect(waves).toBeLessThan(chunks);
    expect(waves).toBeGreaterThanOrEqual(decisions.reduce((n, d) => n + d, 0) / 4);
  });

  test('one group decides while the other’s commands run', async () => {
    const { state, pool: counting } = counted(pool);
    let together = 0;
    const decide: LockstepOptions['decide'] = async (seats) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (state.pending > 0) together++;
      await decideAs(expert)(seats);
    };
    const slow: TerminalPool = {
      ...counting,
      run: async (batch) => {
        const results = counting.run(batch);
        state.pending++;
        await new Promise((resolve) => setTimeout(resolve, 5));
        state.pending--;
        return results;
      },
    };
    await play(6, { pool: slow, groups: 2, decide });
    expect(together).toBeGreaterThan(3);
  });
});

describe('pause, stop and failure with two groups', () => {
  test('a pause holds both groups, is reported once, and changes nothing', async () => {
    const modes: string[] = [];
    const control = new Control((mode) => modes.push(mode));
    let waves = 0;
    const running = play(8, {
      groups: 2,
      gate: control.gate,
      onWave: () => {
        if (++waves === 3) control.pause();
      },
    });
    await expect.poll(() => modes).toEqual(['paused']);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const held = waves;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(waves).toBe(held);
    control.resume();
    expect(await running).toEqual(await play(8));
    expect(modes).toEqual(['paused', 'running']);
  });

  test('stop ends both groups, also while they are paused', async () => {
    const control = new Control();
    control.pause();
    const running = play(8, { groups: 2, gate: control.gate });
    setTimeout(() => control.stop(), 5);
    await expect(running).rejects.toThrow(Stopped);
  });

  test('a failure of one group ends the other, and nothing is pending when it is told', async () => {
    const { state, pool: counting } = counted(pool);
    let decisions = 0;
    const decide: LockstepOptions['decide'] = async (seats) => {
      decisions++;
      if (decisions === 4) throw new Error('the device is gone');
      await decideAs(expert)(seats);
    };
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    await expect(play(8, { pool: counting, groups: 2, decide })).rejects.toThrow('the device is gone');
    const after = decisions;
    expect(state.pending).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('unhandledRejection', note);
    expect(decisions).toBe(after);
    expect(unhandled).toEqual([]);
  });

  test('a group that waits at a paused gate hears of the other’s failure', async () => {
    const control = new Control();
    let deciding = 0;
    const decide: LockstepOptions['decide'] = async (seats) => {
      if (++deciding === 1) {
        control.pause();
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw new Error('the device is gone');
      }
      await decideAs(expert)(seats);
    };
    await expect(play(4, { groups: 2, gate: control.gate, decide })).rejects.toThrow('the device is gone');
  });
});

test('groups: a multiple of the workers where there are episodes enough, never more than hold 16 each', () => {
  const counts = [1, 15, 16, 33, 64, 128, 256].map((seats) => groupsFor(seats, 2));
  expect(counts).toEqual([1, 1, 1, 2, 4, 6, 6]);
  expect([groupsFor(128, 0), groupsFor(128, 16), groupsFor(16, 16)]).toEqual([3, 8, 1]);
});
