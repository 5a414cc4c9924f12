/** The whole loop on the real kernels and real shells, at toy size. What it learns is not tested here, only that it is right. */
import { afterAll, describe, expect, test } from 'vitest';
import { type PartialConfig, parseConfig } from '../../src/core/config/config';
import { VOCABULARY_SIZE } from '../../src/core/tokenizer/tokenizer';
import type { PolicyEngine } from '../../src/model/engine';
import { packRollouts, selectRollouts } from '../../src/run/learn/batch';
import { shapeOf } from '../../src/run/presets/pretrain';
import { createEngine } from '../../src/run/session/session';
import type { Trainer } from '../../src/run/trainer/trainer';
import { play, stir, timeless, toy } from './trainer-support';
import { testContext } from './transformer-support';

afterAll(async () => (await testContext()).dispose());

describe('determinism contract', () => {
  test('same seed, same bits; another seed, other bits', async () => {
    const stirred = { wrap: stir };
    const [a, b, c] = [await play({}, stirred), await play({}, stirred), await play({}, { ...stirred, seed: 4 })];
    expect(a.policy).not.toEqual(a.base);
    expect(timeless(b.sink.records)).toBe(timeless(a.sink.records));
    expect(b.policy).toEqual(a.policy);
    expect(timeless(c.sink.records)).not.toBe(timeless(a.sink.records));
  });

  test.each(['shared', 'separate'] as const)('a resumed run continues bit-identically (%s critic)', async (critic) => {
    const settings: PartialConfig = { critic, valuePretrain: 2 };
    const whole = await play(settings, { wrap: stir });
    const [first, second] = whole.sink.checkpoints;
    const resumed = await play(settings, { wrap: stir, checkpoint: structuredClone(first!) });
    const model = critic === 'shared' ? 'policy' : 'critic';
    expect(second![model]!.step).toBeGreaterThan(first![model]!.step);
    expect(resumed.sink.checkpoints[0]![model]).toEqual(second![model]);
    expect(second!.policy.parameters).not.toEqual(first!.policy.parameters);
    expect(timeless(resumed.sink.records)).toBe(timeless(whole.sink.records.slice(1)));
    expect(resumed.policy).toEqual(whole.policy);
  });

  test('a run that continues on another device or build says so, once', async () => {
    const settings: PartialConfig = { iterations: 3, evalEvery: 0 };
    const whole = await play({ ...settings, iterations: 1 });
    const moved = await play(settings, {
      checkpoint: structuredClone(whole.sink.checkpoints[0]!),
      here: { adapter: 'another', build: 'test' },
    });
    expect(moved.sink.records.map((r) => r.alarms.some((a) => a.code === 'moved'))).toEqual([true, false]);
  });

  test('the size of micro-batches changes nothing but rounding', async () => {
    const settings: PartialConfig = { iterations: 1, evalEvery: 0, minibatches: 1 };
    const one = await play(settings, { wrap: stir });
    const many = await play({ ...settings, microBatchTokens: 64 }, { wrap: stir });
    // The first Adam step is ± 0.002 whatever the size of a gradient: rounding can at most flip the sign of a vanishing one.
    const same = one.policy.filter((p, i) => Math.abs(p - many.policy[i]!) < 2e-4).length;
    expect(one.policy.filter((p, i) => p !== one.base[i]!).length).toBeGreaterThan(5000);
    expect(same / one.policy.length).toBeGreaterThan(0.999);
    expect(many.sink.records[0]!.loss).toBeCloseTo(one.sink.records[0]!.loss, 5);
    expect(many.sink.records[0]!.gradNorm).toBeCloseTo(one.sink.records[0]!.gradNorm, 4);
  });
});

describe('credit', () => {
  test('ρ is 1 for every trained token before the first update', async () => {
    const { sink } = await play({ lossNorm: 'split' });
    for (const record of sink.records) {
      expect(record.ratioError).toBeLessThan(1e-4);
      expect(record.alarms.filter((a) => a.code === 'ratio-not-one')).toEqual([]);
    }
  });

  test.each([true, false])(
    'weights that are not those that sampled raise the alarm (policy moves: %s)',
    async (moves) => {
      // Another policy between rollout and update, as a missed upload or a stale cache would leave it.
      const stale = (engine: PolicyEngine): PolicyEngine => {
        const outer = moves ? stir(engine) : engine;
        return new Proxy(outer, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (name !== 'advantages') return value;
            return async (...args: Parameters<PolicyEngine['advantages']>) => {
              const parameters = await engine.getParameters('policy');
              await engine.setParameters(
                'policy',
                parameters.map((p) => 1.01 * p),
              );
              return outer.advantages(...args);
            };
          },
        });
      };
      // A zero critic gives an untrained policy nothing to learn from: no step is made.
      const still: PartialConfig = { critic: 'separate', valuePretrain: 0, valueUpdates: 0 };
      const { sink } = await play({ iterations: 1, evalEvery: 0, ...(moves ? {} : still) }, { wrap: stale });
      expect(sink.records[0]!.updateSkipped).toBe(!moves);
      expect(sink.records[0]!.ratioError).toBeGreaterThan(1e-3);
      expect(sink.records[0]!.alarms.map((a) => a.code)).toContain('ratio-not-one');
    },
  );

  test('zero rewards and a zero value head: no advantage, no policy update, and it is said', async () => {
    const { sink, policy, base } = await play({
      iterations: 1,
      evalEvery: 0,
      critic: 'separate',
      valuePretrain: 0,
      valueUpdates: 0,
    });
    const record = sink.records[0]!;
    expect(record.meanReturn).toBe(0);
    expect(record.updateSkipped).toBe(true);
    expect(record.alarms.map((a) => a.code)).toContain('zero-advantages');
    expect(policy).toEqual(base);
  });

  test('zero rewards and a zero value head: the actor gradient itself is exactly zero', async () => {
    const { sink, base } = await play({ iterations: 1, evalEvery: 0 });
    const rows = packRollouts(sink.rollouts[0]!);
    const zero = new Float32Array(rows.trainable.length);
    const tokens = { oldLogp: rows.oldLogp, advantages: zero, targets: zero, oldValues: zero };
    const config = parseConfig(toy);
    const engine = await createEngine(
      { context: await testContext(), engine: config.engine },
      shapeOf(config, VOCABULARY_SIZE),
      config,
    );
    await engine.setParameters('policy', base);
    const batch = selectRollouts(
      rows,
      tokens,
      sink.rollouts[0]!.map((_, n) => n),
    );
    const { gradient } = await engine.gradient('policy', batch, {
      objective: 'ppo',
      lossNorm: 'token',
      trainSummary: true,
      policyCoef: 1,
      valueCoef: 0.5,
      entropyCoef: 0,
      klCoef: 0,
      clip: 0.2,
      valueClip: 0,
    });
    engine.dispose();
    expect(gradient.every((g) => g === 0)).toBe(true);
  });

  test.each([
    { advantage: 'outcome', groupSize: 3 },
    { trainSummary: 'frozen' },
    { trainSummary: 'masked', lossNorm: 'segment' },
    { advantage: 'stitched', klCoef: 0.1, valueClip: 0.2 },
    { compaction: 'none' },
    { keepTask: false, tailSteps: 2, window: 96 },
    { attempts: 3, compaction: 'none' },
    { attempts: 2, trainSummary: 'frozen', trigger: 'learned' },
  ] as PartialConfig[])('runs to its end with %j', async (settings) => {
    const { sink, events } = await play({ ...settings, iterations: 1 });
    const record = sink.records[0]!;
    for (const timing of [record.timing!, record.evalTiming!]) {
      expect(timing.gpuMs + timing.idleMs + timing.scriptMs).toBeCloseTo(timing.wallMs, 6);
      expect(Math.min(timing.gpuMs, timing.terminalMs, timing.scriptMs)).toBeGreaterThan(0);
    }
    expect(record.timing!.wallMs).toBeLessThanOrEqual(record.rolloutMs + record.updateMs + 1);
    expect(record.alarms.filter((a) => a.code !== 'zero-advantages')).toEqual([]);
    expect(Number.isFinite(record.loss)).toBe(true);
    expect(record.evalComp!.episodes).toBe(2);
    expect(events.some((e) => e.type === 'watch')).toBe(true);
  });
});

describe('state machine', () => {
  test('stops between phases; what was saved stays', async () => {
    const { sink, events } = await play(
      { iterations: 50, evalEvery: 0 },
      { onEvent: (event, trainer) => event.type === 'iteration' && event.record.iteration === 1 && trainer.stop() },
    );
    expect(sink.records).toHaveLength(2);
    const last = events.filter((e) => e.type === 'progress').pop();
    expect(last?.type === 'progress' && last.progress.status).toBe('stopped');
  });

  test('a full disk pauses the run; once there is room it goes on and nothing is lost', async () => {
    const { sink, events } = await play(
      { evalEvery: 0 },
      {
        refuse: 2,
        onEvent: (event, trainer) => {
          if (event.type === 'progress' && event.progress.status === 'paused') queueMicrotask(() => trainer.resume());
        },
      },
    );
    expect(sink.records.map((r) => r.iteration)).toEqual([0, 1]);
    expect(events.flatMap((e) => (e.type === 'failed' ? [e.error.code] : []))).toEqual(['store.quota', 'store.quota']);
    const last = events.filter((e) => e.type === 'progress').pop();
    expect(last?.type === 'progress' && last.progress.status).toBe('finished');
  });

  test('whatever the clock had to kill, a verifier included, marks the iteration as not reproducible', async () => {
    const { sink } = await play(
      { evalEvery: 0 },
      {
        wrapPool: (pool) => {
          let kills = 0;
          return {
            ...pool,
            get kills() {
              return kills;
            },
            verify: (envs) => {
              kills = 1;
              return pool.verify(envs);
            },
          };
        },
      },
    );
    const marked = sink.records.map((r) => r.alarms.some((a) => a.code === 'killed-command'));
    expect(marked).toEqual([true, false]);
  });

  test.each(['rollout', 'evaluate'] as const)(
    'a pause in the middle of %s is reached within one wave, holds, and changes no bit',
    async (where) => {
      const plain = await play({}, { wrap: stir });
      let phase: string | null = null;
      let decodes = 0;
      let running: Trainer | undefined;
      let since = 0;
      const reached: number[] = [];
      const held: number[] = [];
      const counting = <T extends object>(target: T): T =>
        new Proxy(target, {
          get(object, name) {
            const value = Reflect.get(object, name);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) => {
              since++;
              if (name === 'decode' && phase === where && ++decodes % 3 === 2) {
                since = 0;
                running?.pause();
              }
              return value.apply(object, args);
            };
          },
        });
      const paused = await play(
        {},
        {
          wrap: (engine) => counting(stir(engine)),
          wrapPool: counting,
          onEvent: (event, trainer) => {
            if (event.type !== 'progress') return;
            running = trainer;
            const before = phase;
            phase = event.progress.phase;
            if (event.progress.status !== 'paused') return;
            // Still in the phase: it did not have to end first.
            expect([before, phase]).toEqual([where, where]);
            reached.push(since);
            setTimeout(() => {
              held.push(since);
              trainer.resume();
            }, 10);
          },
        },
      );
      expect(reached.length).toBeGreaterThan(2);
      // Shells that open, commands that run, exits that are verified: what is left of the wave.
      expect(Math.max(...reached)).toBeLessThanOrEqual(3);
      expect(held).toEqual(reached);
      expect(paused.policy).toEqual(plain.policy);
      expect(paused.sink.rollouts).toEqual(plain.sink.rollouts);
      expect(timeless(paused.sink.records)).toBe(timeless(plain.sink.records));
    },
  );

  test('single steps visit the phases in order', async () => {
    const phases: string[] = [];
    let started = false;
    await play(
      { iterations: 1 },
      {
        onEvent: (event, trainer) => {
          if (event.type !== 'progress') return;
          const { status, phase } = event.progress;
          if (status === 'running' && !started) {
            started = true;
            trainer.pause();
          }
          if (status === 'paused') {
            phases.push(phase ?? 'start');
            queueMicrotask(() => trainer.step());
          }
        },
      },
    );
    expect(phases).toEqual(['rollout', 'rollout', 'advantages', 'update', 'evaluate']);
  });

  test('the live view follows one episode token by token and never exceeds the window', async () => {
    const { events } = await play({ iterations: 1, evalEvery: 0 });
    let tokens = 0;
    let window = 0;
    for (const event of events) {
      if (event.type !== 'watch') continue;
      for (const e of event.events) {
        if (e.type === 'start') window = e.window;
        if (e.type === 'compact') tokens = 0;
        if (e.type === 'tokens') tokens += e.ids.length;
        expect(tokens).toBeLessThanOrEqual(window);
      }
    }
    expect(window).toBe(64);
  });
});
