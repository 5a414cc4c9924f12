// Gradient of a matmul's input: dx = dy W^T, or dx += dy W^T, or zeroed where the relu before it was off. W is [in,
// out].
//
// binding  name    shape             type   access
// 0        dy      [rows, m4]        vec4f  read
// 1        w       [4 k4, m4]        vec4f  uniform     a window of 4,096 vec4 (64 KiB) that holds them from w_base on
// 2        mask    [rows, x_stride]  vec4f  read        output of the relu; read with flag 2, any array otherwise
// 3        dx      [rows, x_stride]  vec4f  read/write  columns x_offset .. x_offset + k4; read with flag 1
// 4        params  36 bytes          -      uniform     u32 at 0 rows, 4 x_stride, 8 x_offset, 12 k4, 16 m4, 20 w_base,
//                                                       24 flags (1 accumulate, 2 mask), 28 feature tiles, 32
//                                                       workgroups per grid line; strides in vec4
//
// Workgroup: 32 lanes; a lane computes 4 rows x 8 input features, all lanes of a workgroup the same features, as in
// matmul.wgsl. Limits: 3 storage buffers, 64 KiB uniform binding.
// Numerics: float32, output features in order, four at a time. NaN passes through, unless the mask removes it. Oracle:
// test/oracle/transformer.ts, 1e-5 relative to the sum of absolute products.

struct Params {
  rows: u32,
  x_stride: u32,
  x_offset: u32,
  k4: u32,
  m4: u32,
  w_base: u32,
  flags: u32,
  feature_tiles: u32,
  grid_width: u32,
}

const LANES = 32u;
const ACCUMULATE = 1u;
const MASK = 2u;

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<uniform> w: array<vec4f, 4096>;
@group(0) @binding(2) var<storage, read> mask: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

fn store(row: u32, feature: u32, gradient: vec4f) {
  let at = row * params.x_stride + params.x_offset + feature;
  var result = gradient;
  if ((params.flags & MASK) != 0u) {
    result = select(vec4f(), result, mask[at] > vec4f());
  }
  if ((params.flags & ACCUMULATE) != 0u) {
    result += dx[at];
  }
  dx[at] = result;
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) lane: vec3u) {
  let tile = group.x + group.y * params.grid_width;
  let row = ((tile / params.feature_tiles) * LANES + lane.x) * 4u;
  if (row >= params.rows) {
    return;
  }
  let feature = (tile % params.feature_tiles) * 2u;
  // The second feature group of an odd k4 is computed on the first and not stored.
  let has_second = feature + 1u < params.k4;
  let last = params.rows - 1u;
  let y0 = row * params.m4;
  let y1 = min(row + 1u, last) * params.m4;
  let y2 = min(row + 2u, last) * params.m4;
  let y3 = min(row + 3u, last) * params.m4;
  let wa = params.w_base + feature * 4u * params.m4;
  let wb = wa + select(0u, 4u * params.m4, has_second);
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var b0 = vec4f();
  var b1 = vec4f();
  var b2 = vec4f();
  var b3 = vec4f();
  for (var m = 0u; m < params.m4; m++) {
    let g0 = dy[y0 + m];
    let g1 = dy[y1 + m];
    let g2 = dy[y2 + m];
    let g3 = dy[y3 + m];
    // Four rows of W as the columns of a matrix: g * ma = (dot(g, W[4f]), dot(g, W[4f + 1]), ...).
    let a = wa + m;
    let ma = mat4x4f(w[a], w[a + params.m4], w[a + 2u * params.m4], w[a + 3u * params.m4]);
    a0 += g0 * ma;
    a1 += g1 * ma;
    a2 += g2 * ma;
    a3 += g3 * ma;
    let b = wb + m;
    let mb = mat4x4f(w[b], w[b + params.m4], w[b + 2u * params.m4], w[b + 3u * params.m4]);
    b0 += g0 * mb;
    b1 += g1 * mb;
    b2 += g2 * mb;
    b3 += g3 * mb;
  }
  // One store in a loop, the tile moving up through the registers: eight inlined stores take seconds to compile.
  for (var i = 0u; i < select(4u, 8u, has_second); i++) {
    if (row + i % 4u < params.rows) {
      store(row + i % 4u, feature + i / 4u, a0);
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
