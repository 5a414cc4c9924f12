/** The measured choice on a real device. Which variant wins is the machine's business; that the choice is sound is ours. */
import { afterAll, describe, expect, test } from 'vitest';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice } from '../../src/gpu/device';
import { autotune } from '../../src/model/webgpu/autotune/autotune';
import { createWebGpuEngine } from '../../src/model/webgpu/engine';
import { availableChoices, type KernelChoices } from '../../src/model/webgpu/kernel-choices';
import { d128Shape, quickShape, testContext, tinyShape } from './transformer-support';

afterAll(async () => (await testContext()).dispose());

describe('autotune', () => {
  test.each(Object.entries({ tinyShape, quickShape, d128Shape }))(
    '%s: every kernel is chosen among what was measured',
    async (_name, shape) => {
      const context = await testContext();
      const before = context.bytes;
      const asked: string[] = [];
      const tuning = await autotune(context, shape, { onProgress: (kernel) => asked.push(kernel) });
      expect(context.bytes).toBe(before);
      const available = availableChoices(context.adapter, shape);
      expect(asked).toEqual(Object.keys(available));
      for (const kernel of asked as (keyof KernelChoices)[]) {
        const trials = tuning.measurements.filter((trial) => trial.kernel === kernel);
        expect(trials.map(({ variant }) => variant).sort()).toEqual([...available[kernel]].sort());
        const chosen = trials.filter((trial) => trial.chosen);
        expect(chosen.map(({ variant }) => variant)).toEqual([tuning.choices[kernel]]);
        expect(chosen[0]!.ms).toBeGreaterThan(0);
        expect(trials.filter(({ skipped }) => skipped === 'failed' || skipped === 'differs')).toEqual([]);
      }
      const engine = await createWebGpuEngine(context, shape, tuning);
      engine.dispose();
    },
  );

  test('a variant whose lanes hand round wrong numbers is refused', async () => {
    const context = await acquireDevice(await dawnGpu());
    try {
      if (!context.adapter.features.includes('subgroups')) throw new Error('this test needs an adapter with subgroups');
      const make = context.device.createShaderModule.bind(context.device);
      // The products only: a sampler that is handed wrong numbers may never find its token.
      context.device.createShaderModule = ({ label = '', code }) =>
        make({
          label,
          code: label.includes('matmul') ? code.replaceAll('subgroupBroadcast(', 'subgroupBroadcast(0.5 * ') : code,
        });
      const { choices, measurements } = await autotune(context, tinyShape);
      const products = measurements.filter(
        ({ kernel, variant }) => kernel.startsWith('matmul') && variant === 'subgroup',
      );
      expect(products.map(({ skipped }) => skipped)).toEqual(['differs', 'differs', 'differs']);
      for (const kernel of ['matmul', 'matmul-input-gradient', 'matmul-weight-gradient'] as const)
        expect(choices[kernel]).not.toBe('subgroup');
    } finally {
      context.dispose();
    }
  });

  test('on a software adapter it does not compile what simulates barriers, unless asked', async () => {
    const context = await testContext();
    const untried = (exhaustive: boolean) =>
      autotune(context, tinyShape, { exhaustive }).then(({ measurements }) =>
        measurements.filter(({ skipped }) => skipped === 'software').map(({ variant }) => variant),
      );
    const slow = context.adapter.software ? ['tiled', 'tiled', 'tiled', 'workgroup'] : [];
    expect(await untried(false)).toEqual(slow);
    expect(await untried(true)).toEqual([]);
  });

  test('an abort ends it, and frees what it held', async () => {
    const context = await testContext();
    const before = context.bytes;
    const stop = new AbortController();
    const onProgress = (kernel: string) => kernel === 'attention' && stop.abort(new Error('enough'));
    await expect(autotune(context, quickShape, { signal: stop.signal, onProgress })).rejects.toThrow('enough');
    expect(context.bytes).toBe(before);
  });
});
