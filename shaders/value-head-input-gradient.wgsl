// Gradient of the value head's input: dh_p = dL/dV_p * weight, or added to dh_p.
//
// binding  name         shape                type   access
// 0        grad_values  [>= first + count]   f32    read
// 1        weight       [d / 4]              vec4f  read
// 2        dh           [count, d / 4]       vec4f  read/write
// 3        params       20 bytes             -      uniform  u32 at 0 count, 4 first, 8 d / 4, 12 accumulate (0 or 1),
//                                                            16 lanes per grid line
//
// Workgroup: 64 lanes, four floats a lane. Limits: 3 storage buffers.
// Numerics: float32. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-6.

struct Params {
  count: u32,
  first: u32,
  d4: u32,
  accumulate: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> grad_values: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> dh: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.count * params.d4) {
    return;
  }
  var result = grad_values[params.first + i / params.d4] * weight[i % params.d4];
  if (params.accumulate != 0u) {
    result += dh[i];
  }
  dh[i] = result;
}
