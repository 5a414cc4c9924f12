import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { embedding, encodeEmbedding } from '../../src/gpu/kernels/embedding';
import { embeddingGradient, encodeEmbeddingGradient } from '../../src/gpu/kernels/embedding-gradient';
import { groupGrid, laneGrid } from '../../src/gpu/kernels/grid';
import { encodeMatmul, matmul } from '../../src/gpu/kernels/matmul';
import { matmulPartialFloats } from '../../src/gpu/kernels/matmul-weight-gradient';
import { encodeMoveRows, moveRows } from '../../src/gpu/kernels/move-rows';
import { encodeProduct, encodeProductInputGradient, encodeProductWeightGradient } from '../../src/gpu/kernels/products';
import { reducePartials } from '../../src/gpu/kernels/reduce-partials';
import { difference } from '../oracle/close';
import { columnSums, matmul as matmulOracle, transpose } from '../oracle/kernels';
import { integers, KernelBench, normals } from './kernel-bench';
import { variant, variantNames } from './matmul-variants';
import { expectClose, testContext } from './transformer-support';

let bench: KernelBench;
beforeAll(async () => {
  bench = new KernelBench(await testContext());
});
afterEach(() => bench.dispose());
afterAll(() => bench.context.dispose());

/** n roundings of 6e-8 of a partial sum of up to about 4 √n, added at random: 2.4e-7 n; and products of up to 4 · 4. */
const sumTolerance = (n: number) => ({ absolute: 4e-6 + 3e-7 * n });

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

describe('grids', () => {
  it('never exceed 65,535 workgroups a dimension and cover every lane', () => {
    for (const groups of [1, 65535, 65536, 1_000_003]) {
      const { workgroups, gridWidth } = groupGrid(groups);
      expect(Math.max(...workgroups)).toBeLessThanOrEqual(65535);
      expect(workgroups[1] * gridWidth).toBeGreaterThanOrEqual(groups);
    }
    const { workgroups, gridWidth } = laneGrid(65535 * 64 + 1);
    expect(workgroups).toEqual([65535, 2]);
    expect(gridWidth).toBe(65535 * 64);
  });

  it('a matmul dispatched as a narrow second dimension equals one line', async () => {
    const kernel = await bench.compile(matmul);
    const [n, k, m] = [257, 4, 20];
    const slices = [
      bench.input(normals(1, n * k)),
      bench.weights(normals(2, k * m)),
      bench.input(normals(3, m)),
    ] as const;
    const [line, block] = [bench.output(n * m), bench.output(n * m)];
    bench.run((recorder) => {
      encodeMatmul(
        recorder,
        kernel,
        { x: slices[0], weight: slices[1], bias: slices[2], y: line },
        { rows: n, inputs: k, outputs: m },
      );
      // 3 row tiles × 3 column tiles = 9 workgroups, as 2 × 5: one workgroup is beyond the end.
      const weight = { ...slices[1], size: 65536 };
      recorder.dispatch(
        kernel,
        [slices[0], weight, slices[2], slices[2], block],
        [n, k / 4, 0, k / 4, m / 4, 0, 1, 3, 2],
        [2, 5],
      );
    });
    const [a, b] = await bench.read({ slice: line, count: n * m }, { slice: block, count: n * m });
    expect(b).toEqual(a);
  });

  it('more than 65,535 workgroups: 4,194,305 rows of an embedding', async () => {
    const kernel = await bench.compile(embedding);
    const rows = 65535 * 64 + 65;
    const wte = normals(1, 7 * 4);
    const wpe = normals(2, 3 * 4);
    const records = new Uint32Array(rows * 4);
    for (let r = 0; r < rows; r++) {
      records[4 * r] = r % 7;
      records[4 * r + 2] = r % 3;
    }
    const x = bench.output(rows * 4);
    bench.run((recorder) =>
      encodeEmbedding(
        recorder,
        kernel,
        { records: bench.input(records), wte: bench.input(wte), wtePrevious: undefined, wpe: bench.input(wpe), x },
        { rows, dModel: 4 },
      ),
    );
    const [actual] = await bench.read({ slice: x, count: rows * 4 });
    let wrong = 0;
    for (let i = 0; i < rows * 4; i++) {
      const row = i >> 2;
      if (actual![i] !== Math.fround(wte[(row % 7) * 4 + (i & 3)]! + wpe[(row % 3) * 4 + (i & 3)]!)) wrong++;
    }
    expect(wrong).toBe(0);
  });
});

describe.each([1, 15, 16, 17, 131])('embedding, %i rows', (rows) => {
  const d = 16;
  const [vocabulary, positions] = [11, 9];
  const token = integers(1, rows, vocabulary);
  const previous = integers(2, rows, vocabulary);
  const position = integers(3, rows, positions);

  it('sums three tables', async () => {
    const kernel = await bench.compile(embedding);
    const tables = [normals(4, vocabulary * d), normals(5, vocabulary * d), normals(6, positions * d)] as const;
    const records = new Uint32Array(rows * 4);
    for (let r = 0; r < rows; r++) records.set([token[r]!, previous[r]!, position[r]!], 4 * r);
    const x = bench.output(rows * d);
    bench.run((recorder) =>
      encodeEmbedding(
        recorder,
        kernel,
        {
          records: bench.input(records),
          wte: bench.input(tables[0]),
          wtePrevious: bench.input(tables[1]),
          wpe: bench.input(tables[2]),
          x,
        },
        { rows, dModel: d },
      ),
    );
    const [actual] = await bench.read({ slice: x, count: rows * d });
    const at = (table: Float32Array, row: number, c: number) => table[row * d + c]!;
    const expected = Array.from({ length: rows * d }, (_, i) => {
      const r = Math.floor(i / d);
      return at(tables[0], token[r]!, i % d) + at(tables[1], previous[r]!, i % d) + at(tables[2], position[r]!, i % d);
    });
    expectClose('x', actual!, expected, { absolute: 1e-6 }); // two float32 additions
  });

  it('gradient by table row, added to what was there', async () => {
    const kernel = await bench.compile(embeddingGradient);
    const dx = normals(7, rows * d);
    const held = normals(8, vocabulary * d);
    const order = [...token.keys()].sort((a, b) => token[a]! - token[b]! || a - b);
    const start = Array.from({ length: vocabulary + 1 }, (_, v) => order.filter((t) => token[t]! < v).length);
    const gradient = bench.output(vocabulary * d, held);
    bench.run((recorder) =>
      encodeEmbeddingGradient(
        recorder,
        kernel,
        {
          start: bench.input(Uint32Array.from(start)),
          order: bench.input(Uint32Array.from(order)),
          dx: bench.input(dx),
          gradient,
        },
        { entries: vocabulary, dModel: d },
      ),
    );
    const [actual] = await bench.read({ slice: gradient, count: vocabulary * d });
    const expected = Array.from(held);
    for (let i = 0; i < rows * d; i++) expected[token[Math.floor(i / d)]! * d + (i % d)]! += dx[i]!;
    expectClose('gradient', actual!, expected, sumTolerance(rows));
  });
});

it.each([1, 15, 16, 17, 97])('gather and scatter of %i rows', async (count) => {
  const kernel = await bench.compile(moveRows);
  const [d, first, hiddenRows] = [12, 5, 200];
  const index = Uint32Array.from({ length: first + count }, (_, i) => (i * 7 + 3) % hiddenRows);
  const hidden = normals(1, hiddenRows * d);
  const packed = bench.output(count * d);
  const back = bench.output(hiddenRows * d, new Float32Array(hiddenRows * d));
  const indexSlice = bench.input(index);
  bench.run((recorder) => {
    const range = { first, count };
    encodeMoveRows(recorder, kernel, { index: indexSlice, hidden: bench.input(hidden), packed }, range, {
      dModel: d,
      direction: 'gather',
    });
    encodeMoveRows(recorder, kernel, { index: indexSlice, hidden: back, packed }, range, {
      dModel: d,
      direction: 'scatter',
    });
  });
  const [gathered, scattered] = await bench.read(
    { slice: packed, count: count * d },
    { slice: back, count: hiddenRows * d },
  );
  const rows = [...index.subarray(first)];
  expect([...gathered!]).toEqual(rows.flatMap((r) => [...hidden.subarray(r * d, (r + 1) * d)]));
  const expected = new Float32Array(hiddenRows * d);
  for (const r of rows) expected.set(hidden.subarray(r * d, (r + 1) * d), r * d);
  expect(scattered).toEqual(expected);
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
