// Gradient of a matmul's weights and bias over one chunk of rows: dW = x^T dy, db = sum of dy.
// Chunks are added by reduce-partials.wgsl in chunk order.
//
// binding  name      shape                    type   access
// 0        x         [rows, k4]               vec4f  read
// 1        dy        [rows, m4]               vec4f  read
// 2        partials  [chunks, 4 k4 + 1, m4]   vec4f  write    a chunk's dW [in, out], then its db
// 3        params    28 bytes                 -      uniform  u32 at 0 rows, 4 rows of a chunk, 8 chunks, 12 k4, 16 m4,
//                                                             20 column tiles, 24 lanes per grid line
//
// Workgroup: 64 lanes, nothing shared; a lane computes 4 inputs x 8 outputs of one chunk. Limits: 3 storage buffers.
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

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> dy: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> partials: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  let tiles = params.k4 * params.column_tiles;
  if (i >= tiles * params.chunks) {
    return;
  }
  let chunk = i / tiles;
  let k = (i % tiles) / params.column_tiles;
  let column = (i % params.column_tiles) * 2u;
  let has_second = column + 1u < params.m4;
  let step = select(0u, 1u, has_second);
  let start = chunk * params.chunk_rows;
  let end = min(start + params.chunk_rows, params.rows);
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var b0 = vec4f();
  var b1 = vec4f();
  var b2 = vec4f();
  var b3 = vec4f();
  var bias_a = vec4f();
  var bias_b = vec4f();
  for (var row = start; row < end; row++) {
    let v = x[row * params.k4 + k];
    let at = row * params.m4 + column;
    let ga = dy[at];
    let gb = dy[at + step];
    a0 += v.x * ga;
    a1 += v.y * ga;
    a2 += v.z * ga;
    a3 += v.w * ga;
    b0 += v.x * gb;
    b1 += v.y * gb;
    b2 += v.z * gb;
    b3 += v.w * gb;
    bias_a += ga;
    bias_b += gb;
  }
  let base = chunk * (4u * params.k4 + 1u) * params.m4 + column;
  let out = base + 4u * k * params.m4;
  partials[out] = a0;
  partials[out + params.m4] = a1;
  partials[out + 2u * params.m4] = a2;
  partials[out + 3u * params.m4] = a3;
  let bias_out = base + 4u * params.k4 * params.m4;
  if (k == 0u) {
    partials[bias_out] = bias_a;
  }
  if (has_second) {
    partials[out + 1u] = b0;
    partials[out + params.m4 + 1u] = b1;
    partials[out + 2u * params.m4 + 1u] = b2;
    partials[out + 3u * params.m4 + 1u] = b3;
    if (k == 0u) {
      partials[bias_out + 1u] = bias_b;
    }
  }
}
