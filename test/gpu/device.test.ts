import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { readBack, whole } from '../../src/gpu/kernel';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

test('what the device refuses is an error at the next read-back, once', async () => {
  const buffer = context.createBuffer('test', 64, GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST);
  context.device.queue.writeBuffer(buffer, 0, new Uint32Array(16).fill(7));
  // A storage binding of a buffer that was not made for it.
  const layout = context.device.createBindGroupLayout({
    entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'storage' } }],
  });
  context.device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
  await expect(readBack(context, [whole(buffer)])).rejects.toMatchObject({ code: 'gpu.refused' });
  const [bytes] = await readBack(context, [whole(buffer)]);
  expect([...new Uint32Array(bytes!)]).toEqual(new Array(16).fill(7));
  context.destroyBuffer(buffer);
  expect(context.bytes).toBe(0);
});

test('a copy beyond the end is an error, not zeros', async () => {
  const buffer = context.createBuffer('test', 16, GPUBufferUsage.COPY_SRC);
  await expect(readBack(context, [{ buffer, offset: 0, size: 64 }])).rejects.toMatchObject({ code: 'gpu.refused' });
  context.destroyBuffer(buffer);
});

test('objects of an instance live on after another was made and what nobody holds was collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await dawnGpu();
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const buffer = context.createBuffer('test', 16, GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST);
  context.device.queue.writeBuffer(buffer, 0, new Uint32Array(4).fill(3));
  const [bytes] = await readBack(context, [whole(buffer)]);
  expect([...new Uint32Array(bytes!)]).toEqual([3, 3, 3, 3]);
  context.destroyBuffer(buffer);
});
