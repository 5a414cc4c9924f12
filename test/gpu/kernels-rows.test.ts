import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { embedding, encodeEmbedding } from '../../src/gpu/kernels/embedding';
import { embeddingGradient, encodeEmbeddingGradient } from '../../src/gpu/kernels/embedding-gradient';
import { groupGrid, laneGrid } from '../../src/gpu/kernels/grid';
import { encodeMatmul, matmul } from '../../src/gpu/kernels/matmul';
import { encodeMoveRows, moveRows } from '../../src/gpu/kernels/move-rows';
import { integers, KernelBench, normals } from './kernel-bench';
import { sumTolerance } from './matmul-variants';
import { expectClose, testContext } from './transformer-support';

let bench: KernelBench;
beforeAll(async () => {
  bench = new KernelBench(await testContext());
});
afterEach(() => bench.dispose());
afterAll(() => bench.context.dispose());

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
