// Value head: value_p = h_p . weight + bias.
//
// binding  name    shape                type   access
// 0        h       [count, d / 4]       vec4f  read
// 1        weight  [d / 4]              vec4f  read
// 2        bias    [1]                  f32    read
// 3        values  [>= first + count]   f32    write    row i at first + i
// 4        params  16 bytes             -      uniform  u32 at 0 count, 4 first, 8 d / 4, 12 lanes per grid line
//
// Workgroup: 64 lanes, one row a lane. Limits: 4 storage buffers.
// Numerics: float32, features in order, four interleaved. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  count: u32,
  first: u32,
  d4: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> h: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> values: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x + id.y * params.grid_width;
  if (row >= params.count) {
    return;
  }
  var sum = vec4f();
  for (var c = 0u; c < params.d4; c++) {
    sum += h[row * params.d4 + c] * weight[c];
  }
  values[params.first + row] = (sum.x + sum.y) + (sum.z + sum.w) + bias[0];
}
