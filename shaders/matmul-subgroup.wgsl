// y = x W + bias (+ residual) (then relu), the weights handed round the subgroup. W is [in, out], row-major.
//
// binding  name      shape       type   access
// 0        x         [rows, k4]  vec4f  read
// 1        w         [4 k4, m4]  vec4f  read
// 2        bias      [m4]        vec4f  read
// 3        residual  [rows, m4]  vec4f  read     read with flag 1; any array otherwise
// 4        y         [rows, m4]  vec4f  write
// 5        params    24 bytes    -      uniform  u32 at 0 rows, 4 k4, 8 m4, 12 flags (1 residual, 2 relu), 16 column
//                                                tiles, 20 workgroups per grid line
//
// Written before this text: the directives of subgroups; LANES of a workgroup, SHARE lanes that load different weights
// (4 or 8, at most the subgroup's size; the other lanes load the same again).
// Workgroup: LANES lanes; a lane computes 4 rows x 16 columns in registers, all lanes the same columns. Of a step's 16
// weight vectors each lane loads 16 / SHARE, and the rest comes from its neighbours. Software adapters spend their time
// in loads, lane by lane; a shuffle is one instruction: 1.7 times the rate of matmul.wgsl (docs/performance.md).
// Limits: 5 storage buffers, feature `subgroups`, subgroups of at least SHARE lanes.
// Numerics: float32, input features in order, four at a time (a sum waits in memory, not in registers); a row's result
// does not depend on the rows around it. NaN passes through, also through relu, which keeps what is not below zero.
// Oracle: test/oracle/transformer.ts, 1e-5 relative to the sum of absolute products.

struct Params {
  rows: u32,
  k4: u32,
  m4: u32,
  flags: u32,
  column_tiles: u32,
  grid_width: u32,
}

const COLUMNS = 4u;
const LOADS = 16u / SHARE;
const RESIDUAL = 1u;
const RELU = 2u;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> w: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read> residual: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

fn store(row: u32, column: u32, product: vec4f) {
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

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let tile = group.x + group.y * params.grid_width;
  let first_row = ((tile / params.column_tiles) * LANES + lane.x) * 4u;
  let column = (tile % params.column_tiles) * COLUMNS;
  // No lane leaves early: all of them hold weights. Rows and columns beyond the end are computed on the last and not
  // stored.
  let last = params.rows - 1u;
  var x0 = min(first_row, last) * params.k4;
  var x1 = min(first_row + 1u, last) * params.k4;
  var x2 = min(first_row + 2u, last) * params.k4;
  var x3 = min(first_row + 3u, last) * params.k4;
  // Weight vector n of a step: row n / 4 of W's four, column group n % 4.
  let share = subgroup_lane % SHARE;
  var at: array<u32, LOADS>;
  for (var i = 0u; i < LOADS; i++) {
    let n = i * SHARE + share;
    at[i] = (n / COLUMNS) * params.m4 + min(column + n % COLUMNS, params.m4 - 1u);
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
  for (var k = 0u; k < params.k4; k++) {
    let v0 = x[x0 + k];
    let v1 = x[x1 + k];
    let v2 = x[x2 + k];
    let v3 = x[x3 + k];
    for (var i = 0u; i < LOADS; i++) {
      q[i] = w[at[i]];
      at[i] += 4u * params.m4;
    }
    let w0 = subgroupBroadcast(q[0u / SHARE], 0u % SHARE);
    let w4 = subgroupBroadcast(q[4u / SHARE], 4u % SHARE);
    let w8 = subgroupBroadcast(q[8u / SHARE], 8u % SHARE);
    let w12 = subgroupBroadcast(q[12u / SHARE], 12u % SHARE);
    a00 += v0.x * w0 + v0.y * w4 + v0.z * w8 + v0.w * w12;
    a10 += v1.x * w0 + v1.y * w4 + v1.z * w8 + v1.w * w12;
    a20 += v2.x * w0 + v2.y * w4 + v2.z * w8 + v2.w * w12;
    a30 += v3.x * w0 + v3.y * w4 + v3.z * w8 + v3.w * w12;
    let w1 = subgroupBroadcast(q[1u / SHARE], 1u % SHARE);
    let w5 = subgroupBroadcast(q[5u / SHARE], 5u % SHARE);
    let w9 = subgroupBroadcast(q[9u / SHARE], 9u % SHARE);
    let w13 = subgroupBroadcast(q[13u / SHARE], 13u % SHARE);
    a01 += v0.x * w1 + v0.y * w5 + v0.z * w9 + v0.w * w13;
    a11 += v1.x * w1 + v1.y * w5 + v1.z * w9 + v1.w * w13;
    a21 += v2.x * w1 + v2.y * w5 + v2.z * w9 + v2.w * w13;
    a31 += v3.x * w1 + v3.y * w5 + v3.z * w9 + v3.w * w13;
    let w2 = subgroupBroadcast(q[2u / SHARE], 2u % SHARE);
    let w6 = subgroupBroadcast(q[6u / SHARE], 6u % SHARE);
    let w10 = subgroupBroadcast(q[10u / SHARE], 10u % SHARE);
    let w14 = subgroupBroadcast(q[14u / SHARE], 14u % SHARE);
    a02 += v0.x * w2 + v0.y * w6 + v0.z * w10 + v0.w * w14;
    a12 += v1.x * w2 + v1.y * w6 + v1.z * w10 + v1.w * w14;
    a22 += v2.x * w2 + v2.y * w6 + v2.z * w10 + v2.w * w14;
    a32 += v3.x * w2 + v3.y * w6 + v3.z * w10 + v3.w * w14;
    let w3 = subgroupBroadcast(q[3u / SHARE], 3u % SHARE);
    let w7 = subgroupBroadcast(q[7u / SHARE], 7u % SHARE);
    let w11 = subgroupBroadcast(q[11u / SHARE], 11u % SHARE);
    let w15 = subgroupBroadcast(q[15u / SHARE], 15u % SHARE);
    a03 += v0.x * w3 + v0.y * w7 + v0.z * w11 + v0.w * w15;
    a13 += v1.x * w3 + v1.y * w7 + v1.z * w11 + v1.w * w15;
    a23 += v2.x * w3 + v2.y * w7 + v2.z * w11 + v2.w * w15;
    a33 += v3.x * w3 + v3.y * w7 + v3.z * w11 + v3.w * w15;
  }
  // One store in a loop, the tile moving up through the registers: sixteen inlined stores take seconds to compile.
  for (var i = 0u; i < 16u; i++) {
    if (first_row + i % 4u < params.rows && column + i / 4u < params.m4) {
      store(first_row + i % 4u, column + i / 4u, a00);
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
