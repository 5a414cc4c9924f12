import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { RandomStream, randomKey } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import type { DecodePathName } from '../../src/model/webgpu/decode-path';
import { compareWithOracle, type Histories, makeJob, randomParameters, shapes, upload } from './decode-support';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());
afterEach(() => {
  vi.doUnmock('../../shaders/decode-fused.wgsl?raw');
  vi.doUnmock('../../shaders/decode-fused-subgroup.wgsl?raw');
  vi.doUnmock('../../shaders/decode-fused-workgroup.wgsl?raw');
  vi.doUnmock('../../shaders/decode-fused-workgroup-attention.wgsl?raw');
  vi.doUnmock('../../shaders/decode-attention.wgsl?raw');
  vi.doUnmock('../../shaders/decode-cache.wgsl?raw');
  vi.doUnmock('../../shaders/sample.wgsl?raw');
  vi.resetModules();
});

/** One kernel, broken in one place. The unbroken text must hold the place, or the test proves nothing. */
const broken: [DecodePathName, string, string, string][] = [
  ['layered', 'decode-attention', ' * params.scale', ''],
  ['layered', 'decode-attention', 'keys <= vec4u(position)', 'keys < vec4u(position)'],
  ['layered', 'decode-cache', 'params.d4 + c]', 'c]'],
  ['layered', 'sample', ' - log(total)', ''],
  ['layered', 'sample', 'jobs[job * 8u + 5u] + n)', 'jobs[job * 8u + 5u])'],
  ['layered', 'sample', 'sum > bound', 'sum > 0.5 * bound'],
  ['lane', 'decode-fused', 'y[first + c] * params.scale', 'y[first + c]'],
  ['subgroup', 'decode-fused', 'select(e, 1.0, rises)', 'e'],
  [
    'subgroup',
    'decode-fused-subgroup',
    'attention_at(at + (share / 4u) * out16, share % 4u)',
    'attention_at(at + (share / 4u) * out16, share % 2u)',
  ],
  ['workgroup', 'decode-fused-workgroup-attention', 'score * params.scale', 'score'],
  ['workgroup', 'decode-fused-workgroup', 'sum += partials[p * columns + lane]', 'sum += partials[lane]'],
  ['workgroup', 'decode-fused-workgroup', 'first_draw + state.z', 'first_draw'],
  ['workgroup', 'decode-fused-workgroup', 'sum > bound', 'sum > 0.5 * bound'],
];

test.each(broken)('%s: the oracle notices %s with "%s" as "%s"', { timeout: 300_000 }, async (path, name, from, to) => {
  const text = readFileSync(new URL(`../../shaders/${name}.wgsl`, import.meta.url), 'utf8');
  expect(text.split(from)).toHaveLength(2);
  vi.resetModules();
  vi.doMock(`../../shaders/${name}.wgsl?raw`, () => ({ default: text.replace(from, to) }));
  const { Decoder } = await import('../../src/model/webgpu/decode');
  const shape = shapes.smallest!;
  const flat = randomParameters(shape, 7);
  const parameters = upload(context, flat);
  const decoder = await Decoder.create(context, shape, { path });
  decoder.openSlots(8, 16);
  const key = randomKey(1, 'test');
  const rng = new RandomStream(2, 'test', 3);
  const histories: Histories = new Map();
  const jobs = Array.from({ length: 8 }, (_, slot) =>
    makeJob(histories, rng, shape, { slot, start: 0, feed: 5, cap: 5 }),
  );
  const results = await decoder.decode(parameters, jobs, { key });
  expect(() => compareWithOracle(shape, flat, key, histories, jobs, results)).toThrow();
  decoder.dispose();
  context.destroyBuffer(parameters);
});
