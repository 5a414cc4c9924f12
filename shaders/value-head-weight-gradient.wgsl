// Gradient of the value head's weight and bias over one chunk of rows: dweight = sum dL/dV h, dbias = sum dL/dV.
// Chunks are added by reduce-partials.wgsl in chunk order.
//
// binding  name         shape                type  access
// 0        h            [count, d]           f32   read
// 1        grad_values  [>= first + count]   f32   read
// 2        partials     [chunks, d + 1]      f32   write    dweight, dbias
// 3        params       24 bytes             -     uniform  u32 at 0 count, 4 first, 8 rows of a chunk, 12 chunks, 16
//                                                           d, 20 lanes per grid line
//
// Workgroup: 64 lanes, one number of one chunk a lane. Limits: 3 storage buffers.
// Numerics: float32, rows in order. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  count: u32,
  first: u32,
  chunk_rows: u32,
  chunks: u32,
  d: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> h: array<f32>;
@group(0) @binding(1) var<storage, read> grad_values: array<f32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  let width = params.d + 1u;
  if (i >= params.chunks * width) {
    return;
  }
  let c = i % width;
  let start = (i / width) * params.chunk_rows;
  let end = min(start + params.chunk_rows, params.count);
  var sum = 0.0;
  for (var row = start; row < end; row++) {
    let gradient = grad_values[params.first + row];
    if (c < params.d) {
      sum += gradient * h[row * params.d + c];
    } else {
      sum += gradient;
    }
  }
  partials[i] = sum;
}
