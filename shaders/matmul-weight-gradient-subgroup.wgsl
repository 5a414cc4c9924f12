// Gradient of a matmul's weights and bias over one chunk of rows, the output gradients handed round the subgroup:
// dW = x^T dy, db = sum of dy. Chunks are added by reduce-partials.wgsl in chunk order.
//
// binding  name      shape                    type   access
// 0        x         [rows, k4]               vec4f  read
// 1        dy        [rows, m4]               vec4f  read
// 2        partials  [chunks, 4 k4 + 1, m4]   vec4f  write    a chunk's dW [in, out], then its db
// 3        params    28 bytes                 -      uniform  u32 at 0 rows, 4 rows of a chunk, 8 chunks, 12 k4, 16 m4,
//                                                             20 column tiles, 24 workgroups per grid line
//
// Written before this text: directives, LANES and SHARE, as in matmul-subgroup.wgsl.
// Workgroup: LANES lanes; a lane computes 4 inputs x 32 outputs of one chunk, all lanes the same outputs and chunk.
// Limits: 3 storage buffers, feature `subgroups`, subgroups of at least SHARE lanes.
// Numerics: float32, rows in order. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5 relative to the sum of
// absolute products.

struct Params {
  rows: u32,
  chunk_rows: u32,
  chunks: u32,
  k4: u32,
  m4: u32,
  column_tiles: u32,
  grid_width: u32,
}

const COLUMNS = 8u;
const LOADS = COLUMNS / SHARE;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> partials: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let tile = group.x + group.y * params.grid_width;
  let input_tiles = (params.k4 + LANES - 1u) / LANES;
  let tiles = input_tiles * params.column_tiles;
  // A workgroup beyond the last chunk, at the end of the grid, does the last one's work and stores nothing.
  let chunk = min(tile / tiles, params.chunks - 1u);
  let k = ((tile % tiles) / params.column_tiles) * LANES + lane.x;
  let column = (tile % params.column_tiles) * COLUMNS;
  let x_column = min(k, params.k4 - 1u);
  let share = subgroup_lane % SHARE;
  let start = chunk * params.chunk_rows;
  let end = min(start + params.chunk_rows, params.rows);
  var q: array<vec4f, LOADS>;
  var a00 = vec4f();
  var a01 = vec4f();
  var a02 = vec4f();
  var a03 = vec4f();
  var a04 = vec4f();
  var a05 = vec4f();
  var a06 = vec4f();
  var a07 = vec4f();
  var a10 = vec4f();
  var a11 = vec4f();
  var a12 = vec4f();
  var a13 = vec4f();
  var a14 = vec4f();
  var a15 = vec4f();
  var a16 = vec4f();
  var a17 = vec4f();
  var a20 = vec4f();
  var a21 = vec4f();
  var a22 = vec4f();
  var a23 = vec4f();
  var a24 = vec4f();
  var a25 = vec4f();
  var a26 = vec4f();
  var a27 = vec4f();
  var a30 = vec4f();
  var a31 = vec4f();
  var a32 = vec4f();
  var a33 = vec4f();
  var a34 = vec4f();
  var a35 = vec4f();
  var a36 = vec4f();
  var a37 = vec4f();
  var bias: array<vec4f, LOADS>;
  for (var row = start; row < end; row++) {
    let v = x[row * params.k4 + x_column];
    for (var i = 0u; i < LOADS; i++) {
      q[i] = dy[row * params.m4 + min(column + i * SHARE + share, params.m4 - 1u)];
      bias[i] += q[i];
    }
    let g0 = subgroupBroadcast(q[0u / SHARE], 0u % SHARE);
    a00 += v.x * g0;
    a10 += v.y * g0;
    a20 += v.z * g0;
    a30 += v.w * g0;
    let g1 = subgroupBroadcast(q[1u / SHARE], 1u % SHARE);
    a01 += v.x * g1;
    a11 += v.y * g1;
    a21 += v.z * g1;
    a31 += v.w * g1;
    let g2 = subgroupBroadcast(q[2u / SHARE], 2u % SHARE);
    a02 += v.x * g2;
    a12 += v.y * g2;
    a22 += v.z * g2;
    a32 += v.w * g2;
    let g3 = subgroupBroadcast(q[3u / SHARE], 3u % SHARE);
    a03 += v.x * g3;
    a13 += v.y * g3;
    a23 += v.z * g3;
    a33 += v.w * g3;
    let g4 = subgroupBroadcast(q[4u / SHARE], 4u % SHARE);
    a04 += v.x * g4;
    a14 += v.y * g4;
    a24 += v.z * g4;
    a34 += v.w * g4;
    let g5 = subgroupBroadcast(q[5u / SHARE], 5u % SHARE);
    a05 += v.x * g5;
    a15 += v.y * g5;
    a25 += v.z * g5;
    a35 += v.w * g5;
    let g6 = subgroupBroadcast(q[6u / SHARE], 6u % SHARE);
    a06 += v.x * g6;
    a16 += v.y * g6;
    a26 += v.z * g6;
    a36 += v.w * g6;
    let g7 = subgroupBroadcast(q[7u / SHARE], 7u % SHARE);
    a07 += v.x * g7;
    a17 += v.y * g7;
    a27 += v.z * g7;
    a37 += v.w * g7;
  }
  if (tile / tiles >= params.chunks) {
    return;
  }
  let base = chunk * (4u * params.k4 + 1u) * params.m4;
  // One store in a loop, the tile moving up through the registers: inlined stores take seconds to compile.
  for (var i = 0u; i < 32u; i++) {
    if (k < params.k4 && column + i / 4u < params.m4) {
      partials[base + (4u * k + i % 4u) * params.m4 + column + i / 4u] = a00;
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
    a33 = a04;
    a04 = a14;
    a14 = a24;
    a24 = a34;
    a34 = a05;
    a05 = a15;
    a15 = a25;
    a25 = a35;
    a35 = a06;
    a06 = a16;
    a16 = a26;
    a26 = a36;
    a36 = a07;
    a07 = a17;
    a17 = a27;
    a27 = a37;
  }
  // The lanes of the first input tile hold the sums of dy by column: lane `share` of a subgroup those of its columns.
  // Several subgroups of a workgroup write the same.
  if ((tile % tiles) / params.column_tiles == 0u && subgroup_lane < SHARE) {
    for (var i = 0u; i < LOADS; i++) {
      let at = column + i * SHARE + share;
      if (at < params.m4) {
        partials[base + 4u * params.k4 * params.m4 + at] = bias[i];
      }
    }
  }
}
