// Adam (arXiv 1412.6980) with clipping by the global norm, g' = g * min(1, clip / norm):
//   m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
//   parameter -= rate (m / c1) / (sqrt(v / c2) + epsilon)
// with c1 = 1 - beta1^t, c2 = 1 - beta2^t. Nothing is written when the loss or the gradient is not finite.
//
// binding  name         shape     type   access
// 0        gradient     [size4]   vec4f  read
// 1        norm_record  [4]       u32    read        from gradient-norm.wgsl: norm (f32 bits), .., not finite
// 2        loss_record  [12]      u32    read        from reduce-stats.wgsl: word 10 counts tokens not finite
// 3        parameters   [size4]   vec4f  read/write
// 4        m            [size4]   vec4f  read/write
// 5        v            [size4]   vec4f  read/write
// 6        params       40 bytes  -      uniform     u32 at 0 size4, 4 lanes per grid line; f32 at 8 rate / c1, 12
//                                                    beta1, 16 beta2, 20 1 - beta1, 24 1 - beta2, 28 1 / c2, 32
//                                                    epsilon, 36 clip (0: off)
//
// Workgroup: 64 lanes, four floats a lane. Limits: 6 storage buffers.
// Numerics: float32; the bias corrections come from the host in float64, rounded once. The loss itself is tested too:
// it can overflow while every token is finite. Oracle: test/oracle/transformer.ts, 1e-5 relative to the step.

struct Params {
  size4: u32,
  grid_width: u32,
  rate: f32,
  beta1: f32,
  beta2: f32,
  rest1: f32,
  rest2: f32,
  correction2: f32,
  epsilon: f32,
  clip: f32,
}

const EXPONENT = 0x7f800000u;

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> norm_record: array<u32>;
@group(0) @binding(2) var<storage, read> loss_record: array<u32>;
@group(0) @binding(3) var<storage, read_write> parameters: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> m: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> v: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.size4) {
    return;
  }
  if (norm_record[2] != 0u || loss_record[10] != 0u || (loss_record[0] & EXPONENT) == EXPONENT) {
    return;
  }
  var scale = 1.0;
  let norm = bitcast<f32>(norm_record[0]);
  if (params.clip > 0.0 && norm > params.clip) {
    scale = params.clip / norm;
  }
  let g = gradient[i] * scale;
  let new_m = params.beta1 * m[i] + params.rest1 * g;
  let new_v = params.beta2 * v[i] + params.rest2 * (g * g);
  m[i] = new_m;
  v[i] = new_v;
  // Padding and untouched entries have m = v = 0; the floor keeps 0 / 0 away when epsilon is 0.
  let denominator = max(sqrt(new_v * params.correction2) + params.epsilon, vec4f(1e-30));
  parameters[i] -= params.rate * new_m / denominator;
}
