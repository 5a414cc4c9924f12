// Gradient of the logits, written over them: with p_v = exp(l_v - lse), log p_v = l_v - lse,
//   dl_v = dL/dlogp (1[v = target] - p_v) - dL/dH p_v (log p_v + H).
//
// binding  name          shape                    type   access
// 0        logits        [count, vocabulary / 4]  vec4f  read/write
// 1        targets       [>= first + count]       u32    read     token id of each row
// 2        lse           [count]                  f32    read     from softmax-statistics.wgsl
// 3        entropy       [>= first + count]       f32    read     H, nats
// 4        grad_logp     [>= first + count]       f32    read     dL/dlogp
// 5        grad_entropy  [>= first + count]       f32    read     dL/dH
// 6        params        16 bytes                 -      uniform  u32 at 0 count, 4 first, 8 vocabulary / 4, 12 lanes
//                                                                 per grid line
//
// Workgroup: 64 lanes, four tokens of a row a lane; nothing shared. Limits: 6 storage buffers.
// Numerics: float32. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  count: u32,
  first: u32,
  v4: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read_write> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> entropy: array<f32>;
@group(0) @binding(4) var<storage, read> grad_logp: array<f32>;
@group(0) @binding(5) var<storage, read> grad_entropy: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.count * params.v4) {
    return;
  }
  let row = i / params.v4;
  let p = params.first + row;
  let log_probability = logits[i] - lse[row];
  let probability = exp(log_probability);
  let token = vec4u(0u, 1u, 2u, 3u) + 4u * (i % params.v4);
  let hit = select(vec4f(), vec4f(1.0), token == vec4u(targets[p]));
  logits[i] = grad_logp[p] * (hit - probability)
    - grad_entropy[p] * probability * (log_probability + entropy[p]);
}
