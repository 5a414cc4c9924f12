import { expect, test } from 'vitest';
import { timeShares } from '../../src/core/metrics/metrics';
import { metered, TimeAccount } from '../../src/run/trainer/timing';

/** A clock that is set by hand, and calls that end by hand. */
function bench() {
  let now = 0;
  const account = new TimeAccount(() => now);
  const call = (what: 'gpu' | 'terminal' | 'pause') => {
    const { promise, resolve } = deferred();
    account.during(what, () => promise);
    return async () => {
      resolve();
      await promise;
    };
  };
  return {
    account,
    call,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('time is divided by what is pending, and GPU + idle + script is all of it', async () => {
  const { account, call, pass } = bench();
  pass(1); // script
  const gpu = call('gpu');
  pass(10);
  const terminal = call('terminal');
  pass(100); // both
  await gpu();
  pass(1000); // terminals alone
  await terminal();
  pass(10_000); // script
  expect(account.take()).toEqual({
    wallMs: 11_111,
    gpuMs: 110,
    terminalMs: 1100,
    idleMs: 1000,
    scriptMs: 10_001,
  });
  pass(5);
  expect(account.take()).toMatchObject({ wallMs: 5, scriptMs: 5, gpuMs: 0 });
});

test('two calls of a kind count once; a pause counts only what still runs', async () => {
  const { account, call, pass } = bench();
  const [a, b] = [call('gpu'), call('gpu')];
  pass(1);
  const pause = call('pause');
  await a();
  pass(2);
  await b();
  pass(50);
  await pause();
  expect(account.take()).toEqual({ wallMs: 3, gpuMs: 3, terminalMs: 0, idleMs: 0, scriptMs: 0 });
});

test('a metered object keeps its results, its properties and its failures', async () => {
  let now = 0;
  const account = new TimeAccount(() => now);
  const target = {
    bytes: 7,
    size: () => 3,
    work: async (ms: number) => {
      now += ms;
      return ms;
    },
    fail: async () => {
      throw new Error('no');
    },
    refuse: () => {
      throw new Error('never');
    },
  };
  const one = metered(target, account, 'gpu');
  expect([one.bytes, one.size(), await one.work(4)]).toEqual([7, 3, 4]);
  await expect(one.fail()).rejects.toThrow('no');
  expect(() => one.refuse()).toThrow('never');
  await null;
  now += 2;
  expect(account.take()).toMatchObject({ wallMs: 6, gpuMs: 4, scriptMs: 2 });
});

test('shares are of the summed wall time', () => {
  const timing = { wallMs: 10, gpuMs: 6, terminalMs: 5, idleMs: 3, scriptMs: 1 };
  expect(timeShares([timing, { ...timing, wallMs: 30, gpuMs: 26 }])).toEqual({
    gpu: 0.8,
    terminal: 0.25,
    idle: 0.15,
    script: 0.05,
  });
  expect(timeShares([])).toBeNull();
});
