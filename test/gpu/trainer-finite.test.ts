/** Runs whose numbers stop being finite in their second iteration: they end, and what was saved before stays. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/core/config/config';
import { LabError } from '../../src/core/errors';
import type { Checkpoint, Sink, TrainerEvent } from '../../src/core/protocol/protocol';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer/tokenizer';
import { FileSink } from '../../src/headless/file-sink';
import type { PolicyEngine } from '../../src/model/engine';
import { shapeOf } from '../../src/run/presets/pretrain';
import { openStore } from '../../src/store';
import { play, stir, toy } from './trainer-support';
import { testContext } from './transformer-support';

const folder = mkdtempSync(join(tmpdir(), 'finite-'));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  (await testContext()).dispose();
});

type Poison = (engine: PolicyEngine) => Partial<PolicyEngine>;

/** As `stir`, and with methods of `poison` where it is time. */
const poisoned =
  (poison: Poison, isTime: () => boolean) =>
  (engine: PolicyEngine): PolicyEngine => {
    const inner = stir(engine);
    const bad = poison(inner);
    return new Proxy(inner, {
      get(target, name) {
        const value = (isTime() && Reflect.get(bad, name)) || Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };

const withNaN = (data: Float32Array): Float32Array => {
  const copy = data.slice();
  copy[5] = Number.NaN;
  return copy;
};
const settings = { iterations: 4, evalEvery: 0 } as const;

const poisons: [string, Poison, RegExp][] = [
  [
    'an advantage',
    (engine) => ({
      advantages: async (...args) => {
        const { advantages, targets } = await engine.advantages(...args);
        return { advantages: withNaN(advantages), targets };
      },
    }),
    /advantage is NaN or infinite/,
  ],
  [
    'the loss, as the kernels see it',
    (engine) => ({
      update: (role, batch, loss, optimiser) =>
        engine.update(role, { ...batch, oldLogp: withNaN(batch.oldLogp) }, loss, optimiser),
    }),
    /policy update held a NaN/,
  ],
  [
    'a gradient norm that came back',
    (engine) => ({
      update: async (...args) => ({ ...(await engine.update(...args)), gradNorm: Number.POSITIVE_INFINITY }),
    }),
    /gradNorm Infinity/,
  ],
  [
    'a parameter after an update that claimed to be sound',
    (engine) => ({
      update: async (role, ...rest) => {
        const stats = await engine.update(role, ...rest);
        await engine.setParameters(role, withNaN(await engine.getParameters(role)));
        return stats;
      },
    }),
    /NaN/,
  ],
  [
    'an Adam moment',
    (engine) => ({
      getOptimiser: async (role) => {
        const state = await engine.getOptimiser(role);
        return { ...state, v: withNaN(state.v) };
      },
    }),
    /NaN at models, policy\.adam_v\.wte\[0, 5\]/,
  ],
];

describe.each(poisons)('%s', (name, poison, message) => {
  test.each(['file', 'store'] as const)(
    'the run stops with an alarm; its %s keeps the last good checkpoint',
    async (kind) => {
      const also: Sink = kind === 'file' ? new FileSink(join(folder, name)) : await openStore();
      if (also instanceof FileSink) also.useShape(shapeOf(parseConfig({ ...toy, ...settings }), VOCABULARY_SIZE));
      const events: TrainerEvent[] = [];
      const oneDone = () => events.some(({ type }) => type === 'iteration');
      const onEvent = (event: TrainerEvent) => void events.push(event);
      const thrown = await play(
        { ...settings, minibatches: 1 },
        { wrap: poisoned(poison, oneDone), also, onEvent },
      ).catch((e) => e);
      expect(thrown).toBeInstanceOf(LabError);
      expect(thrown).toMatchObject({ code: 'run.non-finite', message: expect.stringMatching(message) });
      expect(thrown.parts).toMatchObject({ where: 'iteration 1', fix: expect.stringContaining('lower learningRate') });
      expect(events.flatMap((e) => (e.type === 'failed' ? [e.error.code] : []))).toEqual(['run.non-finite']);
      const kept = await also.loadRun('test');
      expect(kept?.records.map((r) => r.iteration)).toEqual([0]);
      expect(kept?.checkpoint).toEqual(await firstCheckpoint());
    },
  );
});

/** What the same run saves after one iteration when nothing is wrong; its time aside. */
let good: Promise<Checkpoint> | undefined;
async function firstCheckpoint(): Promise<unknown> {
  good ??= play({ ...settings, minibatches: 1 }, { wrap: stir }).then(({ sink }) => sink.checkpoints[0]!);
  return { ...(await good), elapsedMs: expect.any(Number) };
}

test('a stored checkpoint that holds a NaN is refused before anything is computed', async () => {
  await firstCheckpoint();
  const checkpoint = structuredClone(await good!);
  checkpoint.policy.parameters[5] = Number.NaN;
  await expect(play({ ...settings, minibatches: 1 }, { checkpoint })).rejects.toThrow(
    /checkpoint of iteration 1, policy\.wte\[0, 5\]: expected finite numbers only, got NaN/,
  );
});
