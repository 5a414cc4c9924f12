import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { matmulPartialFloats } from '../../src/gpu/kernels/matmul-weight-gradient';
import { encodeProduct, encodeProductInputGradient, encodeProductWeightGradient } from '../../src/gpu/kernels/products';
import { reducePartials } from '../../src/gpu/kernels/reduce-partials';
import { difference } from '../oracle/close';
import { columnSums, matmul as matmulOracle, transpose } from '../oracle/kernels';
import { KernelBench, normals } from './kernel-bench';
import { sumTolerance, variant, variantNames } from './matmul-variants';
import { expectClose, testContext } from './transformer-support';

let bench: KernelBench;
beforeAll(async () => {
  bench = new KernelBench(await testContext());
});
afterEach(() => bench.dispose());
afterAll(() => bench.context.dispose());

// [rows, inputs, outputs]: 1, tile ± 1, primes, an odd number of vec4 columns, more weights than one 64 KiB window holds
// (128 × 132: second window starts 8 vec4 behind its binding; 260 × 256); the tiles of 64 rows and columns of the tiled kernels
// ± one row or vec4.
const sizes = [
  [1, 4, 4],
  [31, 4, 12],
  [127, 8, 4],
  [128, 32, 96],
  [129, 20, 36],
  [257, 12, 20],
  [5, 128, 132],
  [3, 260, 256],
  [63, 60, 68],
  [65, 68, 60],
] as const;

const cases = variantNames.flatMap((name) => sizes.map((size) => [name, ...size] as const));

describe.each(cases)('matmul, %s, %i × %i × %i', (name, n, k, m) => {
  const x = normals(1, n * k);
  const w = normals(2, k * m);
  const bias = normals(3, m);
  const residual = normals(4, n * m);
  const product = matmulOracle(x, w, n, k, m, bias);

  it.each(['plain', 'relu', 'residual'] as const)('%s', async (mode) => {
    const kernel = await bench.compile(variant(bench.context, name).matmul);
    const y = bench.output(n * m);
    bench.run((recorder) =>
      encodeProduct(
        recorder,
        kernel,
        {
          x: bench.input(x),
          weight: bench.weights(w),
          bias: bench.input(bias),
          y,
          ...(mode === 'residual' && { residual: bench.input(residual) }),
        },
        { rows: n, inputs: k, outputs: m, relu: mode === 'relu' },
      ),
    );
    const [actual] = await bench.read({ slice: y, count: n * m });
    const expected = product.map((v, i) =>
      mode === 'relu' ? Math.max(v, 0) : mode === 'residual' ? v + residual[i]! : v,
    );
    expectClose(mode, actual!, expected, sumTolerance(k));
  });

  it.each(['plain', 'mask', 'accumulate'] as const)('input gradient, %s', async (mode) => {
    const kernel = await bench.compile(variant(bench.context, name)['matmul-input-gradient']);
    const dy = normals(5, n * m);
    const mask = normals(6, n * k).map((v) => Math.max(v, 0));
    const held = normals(7, n * k);
    const dx = bench.output(n * k, mode === 'accumulate' ? held : undefined);
    bench.run((recorder) =>
      encodeProductInputGradient(
        recorder,
        kernel,
        { dy: bench.input(dy), weight: bench.weights(w), dx, ...(mode === 'mask' && { mask: bench.input(mask) }) },
        { rows: n, inputs: k, outputs: m, accumulate: mode === 'accumulate' },
      ),
    );
    const [actual] = await bench.read({ slice: dx, count: n * k });
    const expected = matmulOracle(dy, transpose(w, k, m), n, m, k).map((v, i) =>
      mode === 'mask' ? (mask[i]! > 0 ? v : 0) : mode === 'accumulate' ? v + held[i]! : v,
    );
    expectClose(mode, actual!, expected, sumTolerance(m));
  });

  it('weight and bias gradient, added to what was there', async () => {
    const partial = await bench.compile(variant(bench.context, name)['matmul-weight-gradient']);
    const reduce = await bench.compile(reducePartials);
    const dy = normals(8, n * m);
    const biasAt = Math.ceil((k * m) / 64) * 64;
    const held = normals(9, biasAt + m);
    const gradient = bench.output(biasAt + m, held);
    const count = matmulPartialFloats(n, k, m);
    const partials = bench.output(count);
    bench.run((recorder) =>
      encodeProductWeightGradient(
        recorder,
        { partial, reduce },
        { x: bench.input(x), dy: bench.input(dy), partials, gradient: { slice: gradient, biasAt } },
        { rows: n, inputs: k, outputs: m },
      ),
    );
    const [actual] = await bench.read({ slice: gradient, count: biasAt + m }, { slice: partials, count });
    const dw = matmulOracle(transpose(x, n, k), dy, k, n, m);
    const db = columnSums(dy, n, m);
    const expected = Array.from(held, (v, i) => v + (i < k * m ? dw[i]! : i < biasAt ? 0 : db[i - biasAt]!));
    expectClose('gradient', actual!, expected, sumTolerance(n));
  });
});

it.each(variantNames)('%s: weight gradient over several chunks (1,031 rows)', async (name) => {
  const descriptor = variant(bench.context, name)['matmul-weight-gradient'];
  const [n, k, m] = [1031, 8, 12];
  const x = normals(1, n * k);
  const dy = normals(2, n * m);
  const biasAt = 128;
  const gradient = bench.output(biasAt + m, new Float32Array(biasAt + m));
  const partial = await bench.compile(descriptor);
  const reduce = await bench.compile(reducePartials);
  bench.run((recorder) =>
    encodeProductWeightGradient(
      recorder,
      { partial, reduce },
      {
        x: bench.input(x),
        dy: bench.input(dy),
        partials: bench.output(matmulPartialFloats(n, k, m)),
        gradient: { slice: gradient, biasAt },
      },
      { rows: n, inputs: k, outputs: m },
    ),
  );
  const [actual] = await bench.read({ slice: gradient, count: biasAt + m });
  expectClose('dW', actual!.subarray(0, k * m), matmulOracle(transpose(x, n, k), dy, k, n, m), sumTolerance(n));
  expectClose('db', actual!.subarray(biasAt), columnSums(dy, n, m), sumTolerance(n));
});

it.each(variantNames)('%s: a row of a matmul does not depend on the rows around it, bit for bit', async (name) => {
  const descriptor = variant(bench.context, name).matmul;
  const kernel = await bench.compile(descriptor);
  const [n, k, m] = [129, 32, 36];
  const x = normals(1, n * k);
  const w = bench.weights(normals(2, k * m));
  const bias = bench.input(normals(3, m));
  const all = bench.output(n * m);
  const alone = bench.output(m);
  bench.run((recorder) => {
    encodeProduct(recorder, kernel, { x: bench.input(x), weight: w, bias, y: all }, { rows: n, inputs: k, outputs: m });
    const row = bench.input(x.slice(77 * k, 78 * k));
    encodeProduct(recorder, kernel, { x: row, weight: w, bias, y: alone }, { rows: 1, inputs: k, outputs: m });
  });
  const [a, b] = await bench.read({ slice: all, count: n * m }, { slice: alone, count: m });
  expect(a!.slice(77 * m, 78 * m)).toEqual(b);
});

it.each(variantNames)('%s: relu keeps NaN', async (name) => {
  const descriptor = variant(bench.context, name).matmul;
  const kernel = await bench.compile(descriptor);
  const y = bench.output(4);
  bench.run((recorder) =>
    encodeProduct(
      recorder,
      kernel,
      {
        x: bench.input(new Float32Array([Number.NaN, 1, 1, 1])),
        weight: bench.weights(normals(1, 16)),
        bias: bench.input(new Float32Array(4)),
        y,
      },
      { rows: 1, inputs: 4, outputs: 4, relu: true },
    ),
  );
  const [actual] = await bench.read({ slice: y, count: 4 });
  expect([...actual!].every(Number.isNaN)).toBe(true);
});

it.each([
  ['registers', 'k < params.k4; k++', 'k + 1u < params.k4; k++'],
  ['tiled', 'k >= params.k4', 'k + 1u >= params.k4'],
] as const)('the matmul oracle notices a kernel (%s) that drops the last input vector', async (name, from, to) => {
  const descriptor = variant(bench.context, name).matmul;
  const broken = { ...descriptor, code: descriptor.code.replace(from, to) };
  expect(broken.code).not.toBe(descriptor.code);
  const kernel = await bench.compile(broken);
  const [n, k, m] = [5, 8, 8];
  const [x, w, bias] = [normals(1, n * k), normals(2, k * m), normals(3, m)];
  const y = bench.output(n * m);
  bench.run((recorder) =>
    encodeProduct(
      recorder,
      kernel,
      { x: bench.input(x), weight: bench.weights(w), bias: bench.input(bias), y },
      { rows: n, inputs: k, outputs: m },
    ),
  );
  const [actual] = await bench.read({ slice: y, count: n * m });
  expect(difference(actual!, matmulOracle(x, w, n, k, m, bias), sumTolerance(k))).not.toBeNull();
});
