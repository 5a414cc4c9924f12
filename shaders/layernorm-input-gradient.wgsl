// Gradient of layer norm's input, added to dx: with z = (x - mean) * inverse and u = dy * weight,
//   dx += inverse * (u - mean(u) - z * mean(u z)).
//
// binding  name    shape          type   access
// 0        x       [rows, d / 4]  vec4f  read
// 1        stats   [rows]         vec2f  read        mean, inverse = 1 / sqrt(variance + epsilon)
// 2        weight  [d / 4]        vec4f  read
// 3        dy      [rows, d / 4]  vec4f  read
// 4        dx      [rows, d / 4]  vec4f  read/write
// 5        params  16 bytes       -      uniform     u32 at 0 rows, 4 d / 4, 8 lanes per grid line, 12 accumulate
//                                                    (0: write dx without reading it)
//
// Workgroup: 64 lanes, one row a lane; nothing shared. Limits: 5 storage buffers.
// Numerics: float32, features in order, four interleaved sums. NaN passes through. Oracle: test/oracle/transformer.ts,
// 1e-5.

struct Params {
  rows: u32,
  d4: u32,
  grid_width: u32,
  accumulate: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> stats: array<vec2f>;
@group(0) @binding(2) var<storage, read> weight: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

fn total(v: vec4f) -> f32 {
  return (v.x + v.y) + (v.z + v.w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x + id.y * params.grid_width;
  if (row >= params.rows) {
    return;
  }
  let base = row * params.d4;
  let width = f32(4u * params.d4);
  let mean = stats[row].x;
  let inverse = stats[row].y;
  var sum_u = vec4f();
  var sum_uz = vec4f();
  for (var c = 0u; c < params.d4; c++) {
    let u = dy[base + c] * weight[c];
    sum_u += u;
    sum_uz += u * ((x[base + c] - mean) * inverse);
  }
  let mean_u = total(sum_u) / width;
  let mean_uz = total(sum_uz) / width;
  for (var c = 0u; c < params.d4; c++) {
    let z = (x[base + c] - mean) * inverse;
    var result = inverse * (dy[base + c] * weight[c] - mean_u - z * mean_uz);
    if (params.accumulate != 0u) {
      result += dx[base + c];
    }
    dx[base + c] = result;
  }
}
