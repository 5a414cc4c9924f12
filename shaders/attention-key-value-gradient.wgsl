// Gradient of causal attention for keys and values, over the row's queries i >= j: p_i = exp(q_i . k * scale - lse_i),
//   dv = sum p_i do_i,  dk = scale * sum p_i (do_i . v - D_i) q_i.
//
// binding  name    shape               type   access
// 0        records [tokens]            vec4u  read     (token, previous token, position in the row, end of the row)
// 1        qkv     [tokens, 3, d / 4]  vec4f  read     query, key, value; each head-major
// 2        lse     [tokens, heads]     f32    read
// 3        delta   [tokens, heads]     f32    read     D, from attention-query-gradient.wgsl
// 4        dout    [tokens, d / 4]     vec4f  read     gradient of the attention's output
// 5        dqkv    [tokens, 3, d / 4]  vec4f  write    the key and value thirds
// 6        params  20 bytes            -      uniform  0 tokens u32, 4 heads u32, 8 d / 4 u32, 12 workgroups per grid
//                                                      line u32, 16 scale f32
//
// Constant written before this text: HEAD_D4, width of a head / 4.
// Workgroup: 64 lanes, one key a lane, one head a workgroup; a lane sums over queries, so that no atomics are needed.
// Limits: 6 storage buffers.
// Numerics: float32, queries in order. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  tokens: u32,
  heads: u32,
  d4: u32,
  grid_width: u32,
  scale: f32,
}

const LANES = 64u;

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> delta: array<f32>;
@group(0) @binding(4) var<storage, read> dout: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> dqkv: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) lane: vec3u) {
  let tile = group.x + group.y * params.grid_width;
  let head = tile % params.heads;
  let j = (tile / params.heads) * LANES + lane.x;
  if (j >= params.tokens) {
    return;
  }
  let stride = 3u * params.d4;
  let column = head * HEAD_D4;
  let key_at = j * stride + params.d4 + column;
  let value_at = key_at + params.d4;
  var key: array<vec4f, HEAD_D4>;
  var value: array<vec4f, HEAD_D4>;
  var key_gradient: array<vec4f, HEAD_D4>;
  var value_gradient: array<vec4f, HEAD_D4>;
  for (var c = 0u; c < HEAD_D4; c++) {
    key[c] = qkv[key_at + c] * params.scale;
    value[c] = qkv[value_at + c];
    key_gradient[c] = vec4f();
    value_gradient[c] = vec4f();
  }
  let end = records[j].w;
  for (var i = j; i < end; i++) {
    let query_at = i * stride + column;
    let out_at = i * params.d4 + column;
    var score = 0.0;
    var slope = 0.0;
    for (var c = 0u; c < HEAD_D4; c++) {
      score += dot(key[c], qkv[query_at + c]);
      slope += dot(value[c], dout[out_at + c]);
    }
    let statistic = i * params.heads + head;
    let probability = exp(score - lse[statistic]);
    let weight = probability * (slope - delta[statistic]);
    for (var c = 0u; c < HEAD_D4; c++) {
      key_gradient[c] += weight * qkv[query_at + c];
      value_gradient[c] += probability * dout[out_at + c];
    }
  }
  for (var c = 0u; c < HEAD_D4; c++) {
    dqkv[key_at + c] = key_gradient[c] * params.scale;
    dqkv[value_at + c] = value_gradient[c];
  }
}
