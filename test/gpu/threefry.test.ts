import { afterAll, beforeAll, expect, test } from 'vitest';
import threefrySource from '../../shaders/threefry.wgsl?raw';
import { randomKey, threefry, unitFloat } from '../../src/core/rng';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { compileKernel, Recorder, readBack, whole } from '../../src/gpu/kernel';

let context: GpuContext;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
});
afterAll(() => context.dispose());

const harness = `${threefrySource}
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= arrayLength(&input)) { return; }
  let bits = threefry(input[id.x].xy, input[id.x].zw);
  output[id.x] = vec4<u32>(bits, bitcast<u32>(unit_float(bits.x)), 0u);
}`;

/** @param blocks [n, 4] key0, key1, counter0, counter1 */
async function onGpu(blocks: number[][]): Promise<{ bits: [number, number]; unit: number }[]> {
  const kernel = await compileKernel(context, { name: 'threefry-test', code: harness, bindings: ['read', 'write'] });
  const data = new Uint32Array(blocks.flat());
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const input = context.createBuffer('input', data.byteLength, usage);
  const output = context.createBuffer('output', data.byteLength, usage);
  context.device.queue.writeBuffer(input, 0, data);
  const recorder = new Recorder(context, 'threefry-test');
  recorder.dispatch(kernel, [whole(input), whole(output)], [], [Math.ceil(blocks.length / 64)]);
  recorder.submit();
  const [bytes] = await readBack(context, [whole(output)]);
  context.destroyBuffer(input);
  context.destroyBuffer(output);
  const words = new Uint32Array(bytes!);
  const floats = new Float32Array(bytes!);
  return blocks.map((_, i) => ({ bits: [words[4 * i]!, words[4 * i + 1]!], unit: floats[4 * i + 2]! }));
}

// Random123 kat_vectors, threefry 2x32 20 rounds.
const published = [
  { block: [0, 0, 0, 0], bits: [0x6b200159, 0x99ba4efe] },
  { block: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], bits: [0x1cb996fc, 0xbb002be7] },
  { block: [0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3], bits: [0xc4923a9c, 0x483df7a0] },
];

test('core and shader give the published Random123 vectors', async () => {
  const got = await onGpu(published.map((v) => v.block));
  published.forEach(({ block, bits }, i) => {
    const [k0, k1, c0, c1] = block as [number, number, number, number];
    expect(threefry(k0, k1, c0, c1)).toEqual(bits);
    expect(got[i]!.bits).toEqual(bits);
  });
});

test('shader bits equal core bits, also past 2^31 and at tail lanes', async () => {
  const [key0, key1] = randomKey(4_000_000_007, 'sample');
  const blocks: number[][] = [];
  for (let i = 0; i < 131; i++) blocks.push([key0, key1, (i * 0x9e3779b1) >>> 0, 2 ** 32 - 1 - i * 7919]);
  const got = await onGpu(blocks);
  blocks.forEach((block, i) => {
    const [k0, k1, c0, c1] = block as [number, number, number, number];
    const bits = threefry(k0, k1, c0, c1);
    expect(got[i]).toEqual({ bits, unit: unitFloat(bits[0]) });
  });
});
