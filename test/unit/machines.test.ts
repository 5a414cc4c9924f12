/** What runs of the page compute with, new ones and those that go on. */
import { expect, test } from 'vitest';
import { defaultConfig } from '../../src/core/config/config';
import { LabError } from '../../src/core/errors';
import type { GpuContext } from '../../src/gpu/device';
import type { Machine } from '../../src/run/session/session';
import { machineForNew, machineForStored } from '../../src/run/worker/machines';

const context = {
  adapter: { vendor: 'mesa', architecture: '', description: 'llvmpipe', software: true, features: [] },
} as unknown as GpuContext;
const adapter = async () => context;
const failing = (code: string) => async (): Promise<GpuContext> => {
  throw new LabError({ code, what: `failed as ${code}` });
};
const named = ({ engine, adapter, context }: Machine) => ({ engine, adapter, context: context !== null });
const onWasm = { engine: 'jax', adapter: 'WebAssembly (jax-js)', context: false };
const onAdapter = { engine: 'webgpu', adapter: 'mesa llvmpipe', context: true };
const config = { ...defaultConfig };

test('a new run uses the adapter, and WebAssembly only where there is none', async () => {
  expect(named(await machineForNew(adapter, 'webgpu'))).toEqual(onAdapter);
  for (const code of ['gpu.missing', 'gpu.no-adapter'])
    expect(named(await machineForNew(failing(code), 'webgpu'))).toEqual(onWasm);
  await expect(machineForNew(failing('gpu.lost'), 'webgpu')).rejects.toThrow('failed as gpu.lost');
});

test('a run that began on WebAssembly stays there when there is an adapter by now', async () => {
  const began = await machineForNew(failing('gpu.missing'), 'webgpu');
  expect(named(await machineForStored(adapter, { adapter: began.adapter, config }))).toEqual(onWasm);
  // Nor does it need a device that fails.
  expect(named(await machineForStored(failing('gpu.lost'), { adapter: began.adapter, config }))).toEqual(onWasm);
});

test('a run that began on an adapter goes on there, or on WebAssembly where it is gone', async () => {
  const began = await machineForNew(adapter, 'webgpu');
  expect(named(await machineForStored(adapter, { adapter: began.adapter, config }))).toEqual(onAdapter);
  expect(named(await machineForStored(failing('gpu.missing'), { adapter: began.adapter, config }))).toEqual(onWasm);
  const onJax = { ...config, engine: 'jax' as const };
  const { adapter: name } = await machineForNew(adapter, 'jax');
  expect(named(await machineForStored(adapter, { adapter: name, config: onJax }))).toMatchObject({
    engine: 'jax',
    context: true,
  });
});
