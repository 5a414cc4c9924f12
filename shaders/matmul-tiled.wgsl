// y = x W + bias (+ residual) (then relu), in tiles of workgroup memory. W is [in, out], row-major.
//
// binding  name      shape       type   access
// 0        x         [rows, k4]  vec4f  read
// 1        w         [4 k4, m4]  vec4f  read        starts at the matrix
// 2        bias      [m4]        vec4f  read
// 3        residual  [rows, m4]  vec4f  read        read with flag 1; any array otherwise
// 4        y         [rows, m4]  vec4f  write
// 5        params    24 bytes    -      uniform     u32 at 0 rows, 4 k4, 8 m4, 12 flags (1 residual, 2 relu), 16 column
//                                                   tiles, 20 workgroups per grid line
//
// Workgroup: 256 lanes compute a tile of 64 rows x 64 columns, a lane 4 x 4 of it in registers. They go over the input
// features 16 at a time: each lane brings one vec4 of x and one of W into workgroup memory (8 KiB), then reads 8 vec4
// for 64 multiply-adds; the next vec4s are on their way meanwhile. For hardware: every value is read from storage once
// a tile, in runs of 64 (x) and 256 (W) bytes. Software adapters are slow at barriers: matmul.wgsl is for them. Limits:
// 5 storage buffers, 256 lanes.
// Numerics: float32, input features in order, a fused multiply-add each; a row's result does not depend on the rows
// around it. NaN passes through, also through relu, which keeps what is not below zero. Oracle: test/oracle/kernels.ts,
// test/gpu/kernels-matmul.test.ts, 3e-7 an input feature.

struct Params {
  rows: u32,
  k4: u32,
  m4: u32,
  flags: u32,
  column_tiles: u32,
  grid_width: u32,
}

const RESIDUAL = 1u;
const RELU = 2u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read> residual: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// [64 rows, 4] and [16 features, 16], in vec4.
var<workgroup> x_tile: array<vec4f, 256>;
var<workgroup> w_tile: array<vec4f, 256>;

// Zero outside the matrix: what lies outside then adds nothing.
fn load_x(row: u32, k: u32) -> vec4f {
  if (row >= params.rows || k >= params.k4) {
    return vec4f();
  }
  return x[row * params.k4 + k];
}

fn load_w(feature: u32, column: u32) -> vec4f {
  if (feature >= 4u * params.k4 || column >= params.m4) {
    return vec4f();
  }
  return w[feature * params.m4 + column];
}

fn multiply_add(v: vec4f, m0: vec4f, m1: vec4f, m2: vec4f, m3: vec4f, sum: vec4f) -> vec4f {
  return fma(vec4f(v.w), m3, fma(vec4f(v.z), m2, fma(vec4f(v.y), m1, fma(vec4f(v.x), m0, sum))));
}

fn store(row: u32, column: u32, product: vec4f) {
  if (row >= params.rows || column >= params.m4) {
    return;
  }
  let at = row * params.m4 + column;
  var result = product + bias[column];
  if ((params.flags & RESIDUAL) != 0u) {
    result += residual[at];
  }
  if ((params.flags & RELU) != 0u) {
    result = select(result, vec4f(), result < vec4f());
  }
  y[at] = result;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x + group.y * params.grid_width;
  let first_row = (tile / params.column_tiles) * 64u;
  if (first_row >= params.rows) {
    return;
  }
  let first_column = (tile % params.column_tiles) * 16u;
  // What the lane loads, and where its 4 x 4 results lie.
  let x_row = first_row + lane / 4u;
  let w_column = first_column + lane % 16u;
  let row = (lane / 16u) * 4u;
  let column = lane % 16u;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var next_x = load_x(x_row, lane % 4u);
  var next_w = load_w(lane / 16u, w_column);
  for (var k = 0u; k < params.k4; k += 4u) {
    x_tile[lane] = next_x;
    w_tile[lane] = next_w;
    workgroupBarrier();
    next_x = load_x(x_row, k + 4u + lane % 4u);
    next_w = load_w(4u * k + 16u + lane / 16u, w_column);
    for (var i = 0u; i < 4u; i++) {
      let at = 64u * i + column;
      let m0 = w_tile[at];
      let m1 = w_tile[at + 16u];
      let m2 = w_tile[at + 32u];
      let m3 = w_tile[at + 48u];
      a0 = multiply_add(x_tile[4u * row + i], m0, m1, m2, m3, a0);
      a1 = multiply_add(x_tile[4u * row + 4u + i], m0, m1, m2, m3, a1);
      a2 = multiply_add(x_tile[4u * row + 8u + i], m0, m1, m2, m3, a2);
      a3 = multiply_add(x_tile[4u * row + 12u + i], m0, m1, m2, m3, a3);
    }
    workgroupBarrier();
  }
  // One store in a loop, the tile moving up through the registers: inlined stores take seconds to compile.
  for (var i = 0u; i < 4u; i++) {
    store(first_row + row + i, first_column + column, a0);
    a0 = a1;
    a1 = a2;
    a2 = a3;
  }
}
