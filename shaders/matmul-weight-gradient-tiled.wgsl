// Gradient of a matmul's weights and bias over one chunk of rows, in tiles of workgroup memory: dW = x^T dy, db = sum
// of dy. Chunks are added by reduce-partials.wgsl in chunk order.
//
// binding  name      shape                    type   access
// 0        x         [rows, k4]               vec4f  read
// 1        dy        [rows, m4]               vec4f  read
// 2        partials  [chunks, 4 k4 + 1, m4]   vec4f  write    a chunk's dW [in, out], then its db
// 3        params    32 bytes                 -      uniform  u32 at 0 rows, 4 rows of a chunk, 8 chunks, 12 k4, 16 m4,
//                                                             20 input tiles, 24 column tiles, 28 workgroups per grid
//                                                             line
//
// Workgroup: 256 lanes compute 64 inputs x 64 outputs of one chunk, a lane 4 x 4 of them in registers, going over the
// rows 16 at a time: each lane brings one vec4 of x and one of dy into workgroup memory (8 KiB), all in runs of 256
// bytes, then reads two vec4 for 16 multiply-adds. For hardware, as matmul-tiled.wgsl. Limits: 3 storage buffers, 256
// lanes.
// Numerics: float32, rows in order. NaN passes through. Oracle: test/oracle/kernels.ts,
// test/gpu/kernels-matmul.test.ts, 3e-7 a row.

struct Params {
  rows: u32,
  chunk_rows: u32,
  chunks: u32,
  k4: u32,
  m4: u32,
  input_tiles: u32,
  column_tiles: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> partials: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

// [16 rows, 16], in vec4.
var<workgroup> x_tile: array<vec4f, 256>;
var<workgroup> dy_tile: array<vec4f, 256>;

// Zero outside the matrix and the chunk: what lies outside then adds nothing.
fn load_x(row: u32, end: u32, k: u32) -> vec4f {
  if (row >= end || k >= params.k4) {
    return vec4f();
  }
  return x[row * params.k4 + k];
}

fn load_dy(row: u32, end: u32, column: u32) -> vec4f {
  if (row >= end || column >= params.m4) {
    return vec4f();
  }
  return dy[row * params.m4 + column];
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x + group.y * params.grid_width;
  let tiles = params.input_tiles * params.column_tiles;
  let chunk = tile / tiles;
  if (chunk >= params.chunks) {
    return;
  }
  let input_tile = (tile % tiles) / params.column_tiles;
  // The lane loads one vec4 of row lane / 16 of both tiles; its results lie at input k, output column.
  let x_at = input_tile * 16u + lane % 16u;
  let k = input_tile * 16u + lane / 16u;
  let column = (tile % params.column_tiles) * 16u + lane % 16u;
  let start = chunk * params.chunk_rows;
  let end = min(start + params.chunk_rows, params.rows);
  let sums_bias = k == 0u;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var bias = vec4f();
  var next_x = load_x(start + lane / 16u, end, x_at);
  var next_dy = load_dy(start + lane / 16u, end, column);
  for (var row = start; row < end; row += 16u) {
    x_tile[lane] = next_x;
    dy_tile[lane] = next_dy;
    workgroupBarrier();
    next_x = load_x(row + 16u + lane / 16u, end, x_at);
    next_dy = load_dy(row + 16u + lane / 16u, end, column);
    for (var i = 0u; i < 256u; i += 16u) {
      let v = x_tile[i + lane / 16u];
      let g = dy_tile[i + lane % 16u];
      a0 = fma(vec4f(v.x), g, a0);
      a1 = fma(vec4f(v.y), g, a1);
      a2 = fma(vec4f(v.z), g, a2);
      a3 = fma(vec4f(v.w), g, a3);
      if (sums_bias) {
        bias += g;
      }
    }
    workgroupBarrier();
  }
  if (k >= params.k4 || column >= params.m4) {
    return;
  }
  let base = chunk * (4u * params.k4 + 1u) * params.m4 + column;
  let out = base + 4u * k * params.m4;
  partials[out] = a0;
  partials[out + params.m4] = a1;
  partials[out + 2u * params.m4] = a2;
  partials[out + 3u * params.m4] = a3;
  if (sums_bias) {
    partials[base + 4u * params.k4 * params.m4] = bias;
  }
}
