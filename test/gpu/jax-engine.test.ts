/**
 * The jax-js engine on its wasm device, which needs no graphics adapter: the contract of every such engine,
 * gradients against the tfjs engine on its CPU backend, and its memory.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import type { PolicyEngine } from '../../src/model/engine';
import { checkGradients } from '../../src/model/gradient-check';
import type { ModelShape } from '../../src/model/parameters';
import { createTfjsEngine } from '../../src/model/tfjs/engine';
import { makeJob, quick, randomParameters } from './decode-support';
import {
  adam,
  batchOf,
  type CreateEngine,
  engineContract,
  GRADIENT_TOLERANCE,
  OUTPUT_TOLERANCE,
  shapes,
  withPolicy,
} from './engine-contract';
import { losses } from './tfjs-support';

// jax-js allocates everything on wasm from one memory, made when it is loaded.
const memories: WebAssembly.Memory[] = [];
const { Memory } = WebAssembly;
WebAssembly.Memory = new Proxy(Memory, {
  construct(target, args: [WebAssembly.MemoryDescriptor]) {
    const memory = new target(...args);
    memories.push(memory);
    return memory;
  },
});
const { createJaxEngine } = await import('../../src/model/jax/engine');
WebAssembly.Memory = Memory;

/** jax-js compiles a hundred kernels for every new shape of a batch. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const create: CreateEngine = (shape, options) => createJaxEngine('wasm', shape, options);
const engineWith = withPolicy(create);

engineContract(create);

describe.each([
  { name: 'quick', losses: Object.keys(losses) },
  { name: 'two layers, no previous token', losses: ['everything'] },
] as const)('$name', ({ name, losses: names }) => {
  const shape: ModelShape = shapes[name];
  const flat = randomParameters(shape, 11);

  let engine: PolicyEngine;
  let reference: PolicyEngine;
  beforeAll(async () => {
    engine = await engineWith(shape, flat);
    reference = await createTfjsEngine(null, shape);
    await reference.setParameters('policy', flat);
  });
  afterAll(() => {
    engine?.dispose();
    reference?.dispose();
  });

  test.each(names)('gradient equals that of tfjs: %s', async (loss) => {
    const check = await checkGradients(engine, reference, batchOf(shape, flat, 8, 3), losses[loss]!);
    expect(check.maxRelativeError, check.worstParameter).toBeLessThan(GRADIENT_TOLERANCE);
    expect(check.lossError).toBeLessThan(OUTPUT_TOLERANCE);
  });
});

describe('memory', () => {
  const flat = randomParameters(quick, 31);

  test('memory is flat over 50 updates, scores and decodes', async () => {
    const engine = await engineWith(quick, flat);
    await engine.openSlots('policy', 8, 64);
    const batch = batchOf(quick, flat, 20, 10);
    const rng = new RandomStream(1, 'test', 5);
    const key = randomKey(1, 'sample');
    const bytes = () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
    let settled = 0;
    for (let i = 0; i < 52; i++) {
      const jobs = Array.from({ length: 8 }, (_, slot) =>
        makeJob(new Map(), rng, quick, { slot, start: 0, feed: 20, cap: 3 }),
      );
      await engine.decode('policy', jobs, { key });
      await engine.score('policy', batch);
      await engine.update('policy', batch, losses.everything!, adam);
      if (i === 1) settled = bytes();
    }
    expect(settled).toBeGreaterThan(0);
    expect(bytes()).toBe(settled);
    engine.dispose();
  });

  test('engines that come and go leave no memory behind', async () => {
    const bytes = () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
    const once = async () => {
      const engine = await engineWith(quick, flat);
      await engine.openSlots('policy', 64, 128); // 2 MiB
      engine.dispose();
    };
    await once();
    const settled = bytes();
    for (let i = 0; i < 5; i++) await once();
    expect(bytes()).toBe(settled);
  });
});
