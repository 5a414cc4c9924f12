// Layer norm: y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the d features of a row.
//
// binding  name    shape          type   access
// 0        x       [rows, d / 4]  vec4f  read
// 1        weight  [d / 4]        vec4f  read
// 2        bias    [d / 4]        vec4f  read
// 3        y       [rows, d / 4]  vec4f  write
// 4        stats   [rows]         vec2f  write    mean, 1 / sqrt(variance + epsilon): kept for the backward pass
// 5        params  16 bytes       -      uniform  0 rows u32, 4 d / 4 u32, 8 lanes per grid line u32, 12 epsilon f32
//
// Workgroup: 64 lanes, one row a lane, so that a row never depends on its neighbours. Limits: 5 storage buffers.
// Numerics: float32; the variance from centred values in a second pass, not as E[x^2] - mean^2, which cancels. Sums in
// feature order, four interleaved. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  rows: u32,
  d4: u32,
  grid_width: u32,
  epsilon: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> stats: array<vec2f>;
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
  var sum = vec4f();
  for (var c = 0u; c < params.d4; c++) {
    sum += x[base + c];
  }
  let mean = total(sum) / width;
  var squares = vec4f();
  for (var c = 0u; c < params.d4; c++) {
    let centred = x[base + c] - mean;
    squares += centred * centred;
  }
  let inverse = 1.0 / sqrt(total(squares) / width + params.epsilon);
  for (var c = 0u; c < params.d4; c++) {
    y[base + c] = (x[base + c] - mean) * inverse * weight[c] + bias[c];
  }
  stats[row] = vec2f(mean, inverse);
}
