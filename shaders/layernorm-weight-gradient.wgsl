// Gradient of layer norm's weight and bias over one chunk of rows: dweight = sum dy z, dbias = sum dy, z = (x - mean) *
// inverse. Chunks are added by reduce-partials.wgsl in chunk order.
//
// binding  name      shape              type   access
// 0        x         [rows, d / 4]      vec4f  read
// 1        stats     [rows]             vec2f  read     mean, inverse
// 2        dy        [rows, d / 4]      vec4f  read
// 3        partials  [chunks, 2, d / 4] vec4f  write    dweight, dbias
// 4        params    20 bytes           -      uniform  u32 at 0 rows, 4 rows of a chunk, 8 chunks, 12 d / 4, 16 lanes
//                                                       per grid line
//
// Workgroup: 64 lanes, four features of one chunk a lane; nothing shared. Limits: 4 storage buffers.
// Numerics: float32, rows in order. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  rows: u32,
  chunk_rows: u32,
  chunks: u32,
  d4: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> stats: array<vec2f>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.chunks * params.d4) {
    return;
  }
  let chunk = i / params.d4;
  let c = i % params.d4;
  let start = chunk * params.chunk_rows;
  let end = min(start + params.chunk_rows, params.rows);
  var weight_gradient = vec4f();
  var bias_gradient = vec4f();
  for (var row = start; row < end; row++) {
    let gradient = dy[row * params.d4 + c];
    let s = stats[row];
    weight_gradient += gradient * ((x[row * params.d4 + c] - s.x) * s.y);
    bias_gradient += gradient;
  }
  partials[2u * chunk * params.d4 + c] = weight_gradient;
  partials[(2u * chunk + 1u) * params.d4 + c] = bias_gradient;
}
