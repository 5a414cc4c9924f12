// y = x W (+ bias) (+ residual or what y held) (then relu). W is [in, out], row-major.
//
// binding  name      shape             type   access
// 0        x         [rows, x_stride]  vec4f  read        columns x_offset .. x_offset + k4 are used
// 1        w         [4 k4, m4]        vec4f  uniform     a window of 4,096 vec4 (64 KiB) that holds them from w_base
//                                                         on
// 2        bias      [m4]              vec4f  read        read with flag 1
// 3        residual  [rows, m4]        vec4f  read        read with flag 2; any array otherwise
// 4        y         [rows, m4]        vec4f  read/write  read with flag 4
// 5        params    40 bytes          -      uniform     u32 at 0 rows, 4 x_stride, 8 x_offset, 12 k4, 16 m4, 20
//                                                         w_base, 24 flags (1 bias, 2 residual, 4 accumulate, 8 relu),
//                                                         28 column tiles, 32 workgroups per grid line; strides in vec4
//
// Workgroup: 32 lanes; a lane computes a tile of 4 rows x 8 columns in registers, all lanes of a workgroup the same
// columns, so that every weight is read at one address. Software adapters are slow at workgroup memory and barriers,
// and read weights 1.2-1.4 times faster from uniform buffers, whose bindings end at 64 KiB: larger matrices come as
// several dispatches that accumulate. Limits: 4 storage buffers, 64 KiB uniform binding.
// Numerics: float32, input features in order; a row's result does not depend on the rows around it. NaN passes through,
// also through relu, which keeps what is not below zero. Oracle: test/oracle/transformer.ts, 1e-5 relative to the sum
// of absolute products.

struct Params {
  rows: u32,
  x_stride: u32,
  x_offset: u32,
  k4: u32,
  m4: u32,
  w_base: u32,
  flags: u32,
  column_tiles: u32,
  grid_width: u32,
}

const LANES = 32u;
const BIAS = 1u;
const RESIDUAL = 2u;
const ACCUMULATE = 4u;
const RELU = 8u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> w: array<vec4f, 4096>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read> residual: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

fn store(row: u32, column: u32, product: vec4f) {
  let at = row * params.m4 + column;
  var result = product;
  if ((params.flags & BIAS) != 0u) {
    result += bias[column];
  }
  if ((params.flags & RESIDUAL) != 0u) {
    result += residual[at];
  }
  if ((params.flags & ACCUMULATE) != 0u) {
    result += y[at];
  }
  if ((params.flags & RELU) != 0u) {
    result = select(result, vec4f(), result < vec4f());
  }
  y[at] = result;
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) lane: vec3u) {
  let tile = group.x + group.y * params.grid_width;
  let row = ((tile / params.column_tiles) * LANES + lane.x) * 4u;
  if (row >= params.rows) {
    return;
  }
  let column = (tile % params.column_tiles) * 2u;
  // The second column group of an odd m4 is computed on the first and not stored.
  let step = select(0u, 1u, column + 1u < params.m4);
  let last = params.rows - 1u;
  let x0 = row * params.x_stride + params.x_offset;
  let x1 = min(row + 1u, last) * params.x_stride + params.x_offset;
  let x2 = min(row + 2u, last) * params.x_stride + params.x_offset;
  let x3 = min(row + 3u, last) * params.x_stride + params.x_offset;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var b0 = vec4f();
  var b1 = vec4f();
  var b2 = vec4f();
  var b3 = vec4f();
  var at = params.w_base + column;
  for (var k = 0u; k < params.k4; k++) {
    let v0 = x[x0 + k];
    let v1 = x[x1 + k];
    let v2 = x[x2 + k];
    let v3 = x[x3 + k];
    // Four rows of W as the columns of a matrix: wa * v = v.x W[4k] + v.y W[4k + 1] + v.z W[4k + 2] + v.w W[4k + 3].
    let wa = mat4x4f(w[at], w[at + params.m4], w[at + 2u * params.m4], w[at + 3u * params.m4]);
    a0 += wa * v0;
    a1 += wa * v1;
    a2 += wa * v2;
    a3 += wa * v3;
    let second = at + step;
    let wb = mat4x4f(w[second], w[second + params.m4], w[second + 2u * params.m4], w[second + 3u * params.m4]);
    b0 += wb * v0;
    b1 += wb * v1;
    b2 += wb * v2;
    b3 += wb * v3;
    at += 4u * params.m4;
  }
  // One store in a loop, the tile moving up through the registers: eight inlined stores take seconds to compile.
  for (var i = 0u; i < 4u + 4u * step; i++) {
    if (row + i % 4u < params.rows) {
      store(row + i % 4u, column + i / 4u, a0);
    }
    a0 = a1;
    a1 = a2;
    a2 = a3;
    a3 = b0;
    b0 = b1;
    b1 = b2;
    b2 = b3;
  }
}
