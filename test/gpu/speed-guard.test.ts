/**
 * A guard against slow kernels: ratios within one run, never times. The limits lie between what is seen on software
 * adapters (llvmpipe 11, 14 and 4; SwiftShader 8, 15 and 1.5) and what is left on llvmpipe when ours takes twice as long.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dawnGpu } from '../../src/gpu/dawn';
import { acquireDevice, type GpuContext } from '../../src/gpu/device';
import { compileKernel, type GpuSlice, Recorder, slice4 } from '../../src/gpu/kernel';
import { encodeProduct, productVariants } from '../../src/gpu/kernels/products';
import { MODEL_SLACK_BYTES } from '../../src/gpu/kernels/weight-windows';
import type { DecodeJob } from '../../src/model/engine';
import { parameterLayout } from '../../src/model/parameters';
import { Decoder } from '../../src/model/webgpu/decode';
import { availableChoices } from '../../src/model/webgpu/kernel-choices';
import { ModelBuffers } from '../../src/model/webgpu/model-buffers';
import { measuredModels, measuredParameters } from '../../src/run/measure/models';
import { alternate, type Spread } from '../../src/run/measure/rounds';

/** y = x W + b, one lane an output, nothing kept in registers or shared: what anyone would write first. */
const plain = /* wgsl */ `
struct Params { rows: u32, inputs: u32, outputs: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x / params.outputs;
  let column = id.x % params.outputs;
  if (row >= params.rows) { return; }
  var sum = bias[column];
  for (var k = 0u; k < params.inputs; k++) { sum += x[row * params.inputs + k] * weight[k * params.outputs + column]; }
  y[id.x] = sum;
}`;

const ROUNDS = 9;
const sizes = { rows: 2048, inputs: 128, outputs: 128 };
const JOBS = 64;

let context: GpuContext;
const buffers: GPUBuffer[] = [];

function operand(count: number): GpuSlice {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
  const buffer = context.createBuffer('speed guard', count * 4 + MODEL_SLACK_BYTES, usage);
  context.device.queue.writeBuffer(
    buffer,
    0,
    Float32Array.from({ length: count }, (_, i) => (i % 7) - 3),
  );
  buffers.push(buffer);
  return slice4(buffer, 0, count);
}

type Contestants = Record<string, () => Promise<unknown>>;

/** Four products: `plain`, and ours but for `tiled`, which takes an eternity on software adapters. */
async function products(): Promise<Contestants> {
  const { rows, inputs, outputs } = sizes;
  const [x, weight, bias, y] = [
    operand(rows * inputs),
    operand(inputs * outputs),
    operand(outputs),
    operand(rows * outputs),
  ];
  const repeat = (record: (recorder: Recorder) => void) => async () => {
    const recorder = new Recorder(context, 'speed guard');
    for (let i = 0; i < 4; i++) record(recorder);
    recorder.submit();
    await context.device.queue.onSubmittedWorkDone();
    context.requireHealthy();
  };
  const kernel = await compileKernel(context, {
    name: 'plain-matmul',
    code: plain,
    bindings: ['read', 'read', 'read', 'write', 'params'],
  });
  const groups = (rows * outputs) / 64;
  const contestants: Contestants = {
    plain: repeat((recorder) => recorder.dispatch(kernel, [x, weight, bias, y], [rows, inputs, outputs], [groups])),
  };
  for (const [variant, { matmul }] of productVariants(context.adapter)) {
    if (variant === 'tiled') continue;
    const ours = await compileKernel(context, matmul);
    contestants[`product ${variant}`] = repeat((recorder) =>
      encodeProduct(recorder, ours, { x, weight, bias, y }, sizes),
    );
  }
  return contestants;
}

/** Two calls of each decode path of the quick model, but for `workgroup`: the same eternity. */
async function decoders(): Promise<Contestants> {
  const shape = measuredModels.quick;
  const jobs = Array.from(
    { length: JOBS },
    (_, slot): DecodeJob => ({
      slot,
      start: 0,
      feed: Uint32Array.from({ length: 12 }, (_, i) => (slot * 31 + i * 7) % shape.vocabulary),
      previous: 0,
      stop: shape.vocabulary,
      cap: 8,
      stream: slot,
      index: 0,
    }),
  );
  const model = new ModelBuffers(context, 'speed guard', parameterLayout(shape));
  model.setParameters(measuredParameters(shape));
  buffers.push(model.parameters.buffer);
  const contestants: Contestants = {};
  for (const path of availableChoices(context.adapter, shape).decode) {
    if (path === 'workgroup') continue;
    const decoder = await Decoder.create(context, shape, { path });
    decoder.openSlots(JOBS, 64);
    contestants[path === 'layered' ? 'layered' : `fused ${path}`] = async () => {
      for (let i = 0; i < 2; i++) await decoder.decode(model.parameters.buffer, jobs, { key: [1, 1] });
    };
  }
  return contestants;
}

let ms: Record<string, Spread>;
beforeAll(async () => {
  context = await acquireDevice(await dawnGpu());
  ms = await alternate({ ...(await products()), ...(await decoders()) }, ROUNDS);
});
afterAll(() => {
  for (const buffer of buffers) context.destroyBuffer(buffer);
  context.dispose();
});

/** Median time of what begins with `kind`: the fastest variant, as an autotune would choose, ms. */
function timeOf(kind: string): number {
  return Math.min(...Object.entries(ms).flatMap(([name, { median }]) => (name.startsWith(kind) ? [median] : [])));
}

test.each([
  { slow: 'plain', fast: 'product', limit: 7 },
  { slow: 'plain', fast: 'fused', limit: 9 },
  { slow: 'layered', fast: 'fused', limit: 1.2 },
])('$slow takes at least $limit times as long as $fast', ({ slow, fast, limit }) => {
  const ratio = timeOf(slow) / timeOf(fast);
  console.log(`${slow} / ${fast}: ${ratio.toFixed(2)}`);
  expect(ratio).toBeGreaterThan(limit);
});
