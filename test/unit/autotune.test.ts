import { describe, expect, test } from 'vitest';
import { LabError } from '../../src/core/errors';
import { microBatchTokensFor, submitMacsFor } from '../../src/model/webgpu/autotune/bounds';
import { type Candidate, type ContestOptions, contest } from '../../src/model/webgpu/autotune/contest';

/** A clock that moves only when fake work is done. */
class FakeMachine {
  now = 0;
  readonly runs = new Map<string, number>();
  readonly order: string[] = [];

  candidate(variant: string, runMs: number | (() => number), compileMs = 10, result = [1, 2]): Candidate<string> {
    return {
      variant,
      prepare: async () => {
        this.now += compileMs;
      },
      run: async (repeats) => {
        this.order.push(variant);
        this.runs.set(variant, (this.runs.get(variant) ?? 0) + 1);
        this.now += repeats * (typeof runMs === 'number' ? runMs : runMs());
      },
      result: async () => result,
    };
  }

  contest(candidates: readonly Candidate<string>[], options: Partial<ContestOptions> = {}) {
    return contest(candidates, { now: () => this.now, compileBudgetMs: 1000, measureBudgetMs: 1000, ...options });
  }
}

const refused = (variant: string): Candidate<string> => ({
  variant,
  prepare: () => Promise.reject(new LabError({ code: 'gpu.shader', what: `no ${variant}` })),
  run: () => Promise.reject(new Error('was not prepared')),
  result: () => Promise.reject(new Error('was not prepared')),
});

describe('a variant whose results are not those of the plain one', () => {
  test.each([
    ['another number', [1, 2.001]],
    ['a NaN', [1, Number.NaN]],
    ['fewer numbers', [1]],
  ])('is refused though it is the fastest: %s', async (_what, wrong) => {
    const machine = new FakeMachine();
    const fast = machine.candidate('broken', 1, 10, wrong);
    const { chosen, trials } = await machine.contest([fast, machine.candidate('plain', 2)], { plain: 'plain' });
    expect(chosen).toBe('plain');
    expect(trials.map(({ skipped }) => skipped)).toEqual(['differs', null]);
  });

  test('is chosen where only the order of the sums differs, and the plain one is made ready though time is up', async () => {
    const machine = new FakeMachine();
    const good = machine.candidate('good', 1, 10, [1, 2.00001]);
    const broken = machine.candidate('broken', 0.5, 2000, [2, 1]);
    const { chosen, trials } = await machine.contest([good, broken, machine.candidate('plain', 2)], { plain: 'plain' });
    expect(chosen).toBe('good');
    expect(trials.map(({ skipped }) => skipped)).toEqual([null, 'differs', 'out-of-time']);
  });

  test('is not chosen for want of another', async () => {
    const machine = new FakeMachine();
    const [a, b] = [machine.candidate('a', 1, 10, [3, 3]), machine.candidate('b', 1, 2000, [3, 3])];
    const run = machine.contest([a, b, machine.candidate('plain', 1)], { plain: 'plain' });
    await expect(run).rejects.toMatchObject({ code: 'kernels.differ' });
  });
});

describe('a measured choice', () => {
  test('takes the fastest, wherever it stands, and measures in turn', async () => {
    for (const times of [
      [2, 3, 4],
      [3, 2, 4],
      [4, 3, 2],
    ]) {
      const machine = new FakeMachine();
      const result = await machine.contest(times.map((ms, i) => machine.candidate(`v${i}`, ms)));
      expect(result.chosen).toBe(`v${times.indexOf(2)}`);
      expect(result.ms).toBe(2);
      expect(result.trials.map((trial) => trial.ms)).toEqual(times);
      expect(machine.order.slice(3, 9)).toEqual(['v0', 'v1', 'v2', 'v0', 'v1', 'v2']);
    }
  });

  test('a hopeless candidate runs once, whether it comes before or after the better one', async () => {
    for (const slowFirst of [true, false]) {
      const machine = new FakeMachine();
      const pair = [machine.candidate('slow', 31), machine.candidate('fast', 10)];
      const result = await machine.contest(slowFirst ? pair : pair.reverse());
      expect(result.chosen).toBe('fast');
      expect(machine.runs.get('slow')).toBe(1);
      expect(machine.runs.get('fast')).toBeGreaterThan(2);
      expect(result.trials.find(({ variant }) => variant === 'slow')).toMatchObject({ ms: 31, skipped: 'hopeless' });
    }
  });

  test('a slow first run alone does not decide among the hopeful', async () => {
    const machine = new FakeMachine();
    let first = true;
    const late = () => {
      const ms = first ? 20 : 5;
      first = false;
      return ms;
    };
    expect((await machine.contest([machine.candidate('a', 8), machine.candidate('late', late)])).chosen).toBe('late');
  });

  test('a difference within noise leaves the first in place', async () => {
    const machine = new FakeMachine();
    const chosen = async (ms: number) =>
      (await machine.contest([machine.candidate('first', 10), machine.candidate('second', ms)])).chosen;
    expect(await chosen(9.6)).toBe('first');
    expect(await chosen(9.4)).toBe('second');
  });

  test('what the driver refuses is passed over; when it refuses all, its error comes out', async () => {
    const machine = new FakeMachine();
    const result = await machine.contest([refused('broken'), machine.candidate('works', 5)]);
    expect(result.chosen).toBe('works');
    expect(result.trials[0]).toEqual({ variant: 'broken', ms: null, compileMs: null, skipped: 'failed' });
    await expect(machine.contest([refused('a'), refused('b')])).rejects.toMatchObject({ message: /no b/ });
  });

  test('compiling has a budget: later candidates are left out, the first never is', async () => {
    const machine = new FakeMachine();
    const candidates = ['a', 'b', 'c'].map((variant, i) => machine.candidate(variant, 10 - i, 600));
    const result = await machine.contest(candidates, { compileBudgetMs: 500 });
    expect(result.trials.map((trial) => trial.skipped)).toEqual([null, null, 'out-of-time']);
    expect(result.chosen).toBe('b');
    expect((await machine.contest([machine.candidate('only', 1, 9000)], { compileBudgetMs: -1 })).chosen).toBe('only');
  });

  test('measuring has a budget', async () => {
    const machine = new FakeMachine();
    const result = await machine.contest([machine.candidate('a', 300), machine.candidate('b', 310)], {
      measureBudgetMs: 700,
    });
    expect(result.measureMs).toBeLessThan(700 + 2 * 310);
    expect(result.chosen).toBe('a');
  });

  test('short work is repeated until a sample lasts', async () => {
    const machine = new FakeMachine();
    const repeats: number[] = [];
    const candidate = machine.candidate('a', 0.5);
    const run = (n: number) => {
      repeats.push(n);
      return candidate.run(n);
    };
    const result = await machine.contest([{ ...candidate, run }], { sampleMs: 4 });
    expect(new Set(repeats)).toEqual(new Set([1, 8]));
    expect(result.ms).toBeCloseTo(0.5, 9);
  });

  test('stops when it is told to', async () => {
    const machine = new FakeMachine();
    const stop = new AbortController();
    const candidate = machine.candidate('a', 1);
    const run = (n: number) => {
      stop.abort(new Error('enough'));
      return candidate.run(n);
    };
    await expect(machine.contest([{ ...candidate, run }], { signal: stop.signal })).rejects.toThrow('enough');
    expect(machine.runs.get('a')).toBe(1);
  });
});

describe('bounds of a submit', () => {
  const shape = {
    vocabulary: 256,
    dModel: 128,
    layers: 4,
    heads: 4,
    mlp: 512,
    positions: 128,
    previousToken: true,
  };
  const rates = (macsPerMs: number) => ({
    forward: macsPerMs,
    inputGradient: macsPerMs,
    weightGradient: macsPerMs,
    attentionMs: 0,
  });

  test('a micro-batch lasts about 100 ms: between half of it and all of it', () => {
    // Backward pass of a block of d128: two products for each of 4·128² + 2·128·512 weights.
    const macs = 2 * (4 * 128 ** 2 + 2 * 128 * 512);
    for (const macsPerMs of [2e6, 5e6, 3e7]) {
      const ms = (microBatchTokensFor(shape, rates(macsPerMs)) * macs) / macsPerMs;
      expect(ms).toBeGreaterThan(50);
      expect(ms).toBeLessThanOrEqual(100);
    }
  });

  test('a wide vocabulary counts, and so does attention', () => {
    const plain = microBatchTokensFor(shape, rates(5e6));
    expect(microBatchTokensFor({ ...shape, vocabulary: 4080 }, rates(5e6))).toBeLessThan(plain);
    expect(microBatchTokensFor(shape, { ...rates(5e6), attentionMs: 0.2 })).toBeLessThan(plain);
  });

  test('bounds are powers of two within limits, so that noise does not change results', () => {
    expect(submitMacsFor(1.4e6)).toBe(2 ** 27);
    expect(submitMacsFor(2.6e6)).toBe(2 ** 27);
    expect(submitMacsFor(1)).toBe(2 ** 24);
    expect(submitMacsFor(1e12)).toBe(2 ** 33);
    expect(microBatchTokensFor(shape, rates(1))).toBe(256);
    expect(microBatchTokensFor(shape, rates(1e12))).toBe(2 ** 18);
  });
});
