// Gradient of a matmul's input in tiles of workgroup memory: dx = dy W^T, or dx += dy W^T, or zeroed where the relu
// before it was off. W is [in, out].
//
// binding  name    shape       type   access
// 0        dy      [rows, m4]  vec4f  read
// 1        w       [4 k4, m4]  vec4f  read        starts at the matrix
// 2        mask    [rows, k4]  vec4f  read        output of the relu; read with flag 2, any array otherwise
// 3        dx      [rows, k4]  vec4f  read/write  read with flag 1
// 4        params  24 bytes    -      uniform     u32 at 0 rows, 4 k4, 8 m4, 12 flags (1 accumulate, 2 mask), 16
//                                                 feature tiles, 20 workgroups per grid line
//
// Workgroup: 256 lanes compute 64 rows x 64 input features, a lane 4 x 4 of them, going over the output features 16 at
// a time, as in matmul-tiled.wgsl. W comes in runs of 64 bytes and is kept as rows of W: a result is a dot product of
// four output features with each of four rows. Limits: 4 storage buffers, 256 lanes, 9.25 KiB of workgroup memory.
// Numerics: float32, output features in order, four at a time. NaN passes through, unless the mask removes it. Oracle:
// test/oracle/kernels.ts, test/gpu/kernels-matmul.test.ts, 3e-7 an output feature.

struct Params {
  rows: u32,
  k4: u32,
  m4: u32,
  flags: u32,
  feature_tiles: u32,
  grid_width: u32,
}

const ACCUMULATE = 1u;
const MASK = 2u;
// Length of a row of w_tile in vec4: with one unused, eight neighbouring lanes read eight different groups of banks.
const W_ROW = 5u;

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read> mask: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

// [64 rows, 4] vec4; [64 features, W_ROW] vec4, feature f in row (f % 4) 16 + f / 4.
var<workgroup> dy_tile: array<vec4f, 256>;
var<workgroup> w_tile: array<vec4f, 320>;

// Zero outside the matrix: what lies outside then adds nothing.
fn load_dy(row: u32, m: u32) -> vec4f {
  if (row >= params.rows || m >= params.m4) {
    return vec4f();
  }
  return dy[row * params.m4 + m];
}

fn load_w(feature: u32, m: u32) -> vec4f {
  if (feature >= 4u * params.k4 || m >= params.m4) {
    return vec4f();
  }
  return w[feature * params.m4 + m];
}

fn store(row: u32, feature: u32, gradient: vec4f) {
  if (row >= params.rows || feature >= params.k4) {
    return;
  }
  let at = row * params.k4 + feature;
  var result = gradient;
  if ((params.flags & MASK) != 0u) {
    result = select(vec4f(), result, mask[at] > vec4f());
  }
  if ((params.flags & ACCUMULATE) != 0u) {
    result += dx[at];
  }
  dx[at] = result;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x + group.y * params.grid_width;
  let first_row = (tile / params.feature_tiles) * 64u;
  if (first_row >= params.rows) {
    return;
  }
  let first_feature = (tile % params.feature_tiles) * 16u;
  // The lane loads row lane / 4 of both tiles.
  let load_row = lane / 4u;
  let w_at = ((load_row % 4u) * 16u + load_row / 4u) * W_ROW + lane % 4u;
  let row = (lane / 16u) * 4u;
  let feature = lane % 16u;
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var next_dy = load_dy(first_row + load_row, lane % 4u);
  var next_w = load_w(4u * first_feature + load_row, lane % 4u);
  for (var m = 0u; m < params.m4; m += 4u) {
    dy_tile[lane] = next_dy;
    w_tile[w_at] = next_w;
    workgroupBarrier();
    next_dy = load_dy(first_row + load_row, m + 4u + lane % 4u);
    next_w = load_w(4u * first_feature + load_row, m + 4u + lane % 4u);
    for (var i = 0u; i < 4u; i++) {
      let at = feature * W_ROW + i;
      // Four rows of W as the columns of a matrix: g * rows = (dot(g, W[4f]), dot(g, W[4f + 1]), ...).
      let rows = mat4x4f(w_tile[at], w_tile[at + 16u * W_ROW], w_tile[at + 32u * W_ROW], w_tile[at + 48u * W_ROW]);
      a0 += dy_tile[4u * row + i] * rows;
      a1 += dy_tile[4u * row + 4u + i] * rows;
      a2 += dy_tile[4u * row + 8u + i] * rows;
      a3 += dy_tile[4u * row + 12u + i] * rows;
    }
    workgroupBarrier();
  }
  // One store in a loop, the tile moving up through the registers: inlined stores take seconds to compile.
  for (var i = 0u; i < 4u; i++) {
    store(first_row + row + i, first_feature + feature, a0);
    a0 = a1;
    a1 = a2;
    a2 = a3;
  }
}
