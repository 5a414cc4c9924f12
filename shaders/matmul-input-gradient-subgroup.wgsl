// Gradient of a matmul's input, the weights handed round the subgroup: dx = dy W^T, or dx += dy W^T, or zeroed where
// the relu before it was off. W is [in, out], row-major.
//
// binding  name    shape       type   access
// 0        dy      [rows, m4]  vec4f  read
// 1        w       [4 k4, m4]  vec4f  read
// 2        mask    [rows, k4]  vec4f  read        output of the relu; read with flag 2, any array otherwise
// 3        dx      [rows, k4]  vec4f  read/write  read with flag 1
// 4        params  24 bytes    -      uniform     u32 at 0 rows, 4 k4, 8 m4, 12 flags (1 accumulate, 2 mask), 16
//                                                 feature tiles, 20 workgroups per grid line
//
// Written before this text: directives, LANES and SHARE, as in matmul-subgroup.wgsl.
// Workgroup: LANES lanes; a lane computes 4 rows x 16 input features, all lanes the same features. Limits: 4 storage
// buffers, feature `subgroups`, subgroups of at least SHARE lanes.
// Numerics: float32, output features in order, four at a time. NaN passes through, unless the mask removes it. Oracle:
// test/oracle/transformer.ts, 1e-5 relative to the sum of absolute products.

struct Params {
  rows: u32,
  k4: u32,
  m4: u32,
  flags: u32,
  feature_tiles: u32,
  grid_width: u32,
}

const LOADS = 16u / SHARE;
const ACCUMULATE = 1u;
const MASK = 2u;

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read> mask: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

fn store(row: u32, feature: u32, gradient: vec4f) {
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

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let tile = group.x + group.y * params.grid_width;
  let first_row = ((tile / params.feature_tiles) * LANES + lane.x) * 4u;
  let feature = (tile % params.feature_tiles) * 4u;
  // No lane leaves early: all of them hold weights. Rows and features beyond the end are computed on the last and not
  // stored.
  let last = params.rows - 1u;
  let y0 = min(first_row, last) * params.m4;
  let y1 = min(first_row + 1u, last) * params.m4;
  let y2 = min(first_row + 2u, last) * params.m4;
  let y3 = min(first_row + 3u, last) * params.m4;
  // Weight vector n of a step: row n of the tile's 16 rows of W.
  let share = subgroup_lane % SHARE;
  var at: array<u32, LOADS>;
  for (var i = 0u; i < LOADS; i++) {
    at[i] = min(4u * feature + i * SHARE + share, 4u * params.k4 - 1u) * params.m4;
  }
  var q: array<vec4f, LOADS>;
  var a00 = vec4f();
  var a01 = vec4f();
  var a02 = vec4f();
  var a03 = vec4f();
  var a10 = vec4f();
  var a11 = vec4f();
  var a12 = vec4f();
  var a13 = vec4f();
  var a20 = vec4f();
  var a21 = vec4f();
  var a22 = vec4f();
  var a23 = vec4f();
  var a30 = vec4f();
  var a31 = vec4f();
  var a32 = vec4f();
  var a33 = vec4f();
  for (var m = 0u; m < params.m4; m++) {
    let g0 = dy[y0 + m];
    let g1 = dy[y1 + m];
    let g2 = dy[y2 + m];
    let g3 = dy[y3 + m];
    for (var i = 0u; i < LOADS; i++) {
      q[i] = w[at[i] + m];
    }
    let w0 = subgroupBroadcast(q[0u / SHARE], 0u % SHARE);
    a00.x += dot(g0, w0);
    a10.x += dot(g1, w0);
    a20.x += dot(g2, w0);
    a30.x += dot(g3, w0);
    let w1 = subgroupBroadcast(q[1u / SHARE], 1u % SHARE);
    a00.y += dot(g0, w1);
    a10.y += dot(g1, w1);
    a20.y += dot(g2, w1);
    a30.y += dot(g3, w1);
    let w2 = subgroupBroadcast(q[2u / SHARE], 2u % SHARE);
    a00.z += dot(g0, w2);
    a10.z += dot(g1, w2);
    a20.z += dot(g2, w2);
    a30.z += dot(g3, w2);
    let w3 = subgroupBroadcast(q[3u / SHARE], 3u % SHARE);
    a00.w += dot(g0, w3);
    a10.w += dot(g1, w3);
    a20.w += dot(g2, w3);
    a30.w += dot(g3, w3);
    let w4 = subgroupBroadcast(q[4u / SHARE], 4u % SHARE);
    a01.x += dot(g0, w4);
    a11.x += dot(g1, w4);
    a21.x += dot(g2, w4);
    a31.x += dot(g3, w4);
    let w5 = subgroupBroadcast(q[5u / SHARE], 5u % SHARE);
    a01.y += dot(g0, w5);
    a11.y += dot(g1, w5);
    a21.y += dot(g2, w5);
    a31.y += dot(g3, w5);
    let w6 = subgroupBroadcast(q[6u / SHARE], 6u % SHARE);
    a01.z += dot(g0, w6);
    a11.z += dot(g1, w6);
    a21.z += dot(g2, w6);
    a31.z += dot(g3, w6);
    let w7 = subgroupBroadcast(q[7u / SHARE], 7u % SHARE);
    a01.w += dot(g0, w7);
    a11.w += dot(g1, w7);
    a21.w += dot(g2, w7);
    a31.w += dot(g3, w7);
    let w8 = subgroupBroadcast(q[8u / SHARE], 8u % SHARE);
    a02.x += dot(g0, w8);
    a12.x += dot(g1, w8);
    a22.x += dot(g2, w8);
    a32.x += dot(g3, w8);
    let w9 = subgroupBroadcast(q[9u / SHARE], 9u % SHARE);
    a02.y += dot(g0, w9);
    a12.y += dot(g1, w9);
    a22.y += dot(g2, w9);
    a32.y += dot(g3, w9);
    let w10 = subgroupBroadcast(q[10u / SHARE], 10u % SHARE);
    a02.z += dot(g0, w10);
    a12.z += dot(g1, w10);
    a22.z += dot(g2, w10);
    a32.z += dot(g3, w10);
    let w11 = subgroupBroadcast(q[11u / SHARE], 11u % SHARE);
    a02.w += dot(g0, w11);
    a12.w += dot(g1, w11);
    a22.w += dot(g2, w11);
    a32.w += dot(g3, w11);
    let w12 = subgroupBroadcast(q[12u / SHARE], 12u % SHARE);
    a03.x += dot(g0, w12);
    a13.x += dot(g1, w12);
    a23.x += dot(g2, w12);
    a33.x += dot(g3, w12);
    let w13 = subgroupBroadcast(q[13u / SHARE], 13u % SHARE);
    a03.y += dot(g0, w13);
    a13.y += dot(g1, w13);
    a23.y += dot(g2, w13);
    a33.y += dot(g3, w13);
    let w14 = subgroupBroadcast(q[14u / SHARE], 14u % SHARE);
    a03.z += dot(g0, w14);
    a13.z += dot(g1, w14);
    a23.z += dot(g2, w14);
    a33.z += dot(g3, w14);
    let w15 = subgroupBroadcast(q[15u / SHARE], 15u % SHARE);
    a03.w += dot(g0, w15);
    a13.w += dot(g1, w15);
    a23.w += dot(g2, w15);
    a33.w += dot(g3, w15);
  }
  // One store in a loop, the tile moving up through the registers: sixteen inlined stores take seconds to compile.
  for (var i = 0u; i < 16u; i++) {
    if (first_row + i % 4u < params.rows && feature + i / 4u < params.k4) {
      store(first_row + i % 4u, feature + i / 4u, a00);
    }
    a00 = a10;
    a10 = a20;
    a20 = a30;
    a30 = a01;
    a01 = a11;
    a11 = a21;
    a21 = a31;
    a31 = a02;
    a02 = a12;
    a12 = a22;
    a22 = a32;
    a32 = a03;
    a03 = a13;
    a13 = a23;
    a23 = a33;
  }
}
