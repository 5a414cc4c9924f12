// Gradient of causal attention for queries: p_j = exp(q . k_j * scale - lse), D = do . o,
//   dq = scale * sum over j <= t of p_j (do . v_j - D) k_j.
//
// binding  name    shape               type   access
// 0        records [tokens]            vec4u  read     (token, previous token, position in the row, end of the row)
// 1        qkv     [tokens, 3, d / 4]  vec4f  read     query, key, value; each head-major
// 2        out     [tokens, d / 4]     vec4f  read     output of attention.wgsl
// 3        lse     [tokens, heads]     f32    read
// 4        dout    [tokens, d / 4]     vec4f  read     gradient of out
// 5        dqkv    [tokens, 3, d / 4]  vec4f  write    the query third
// 6        delta   [tokens, heads]     f32    write    D, for attention-key-value-gradient.wgsl
// 7        params  20 bytes            -      uniform  0 tokens u32, 4 heads u32, 8 d / 4 u32, 12 workgroups per grid
//                                                      line u32, 16 scale f32
//
// Constant written before this text: HEAD_D4, width of a head / 4.
// Workgroup: 64 lanes, one query a lane, one head a workgroup; nothing shared, no atomics. Limits: 7 storage buffers.
// Numerics: float32, keys in order. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

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
@group(0) @binding(2) var<storage, read> out: array<vec4f>;
@group(0) @binding(3) var<storage, read> lse: array<f32>;
@group(0) @binding(4) var<storage, read> dout: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> dqkv: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> delta: array<f32>;
@group(0) @binding(7) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) lane: vec3u) {
  let tile = group.x + group.y * params.grid_width;
  let head = tile % params.heads;
  let t = (tile / params.heads) * LANES + lane.x;
  if (t >= params.tokens) {
    return;
  }
  let stride = 3u * params.d4;
  let query_at = t * stride + head * HEAD_D4;
  let out_at = t * params.d4 + head * HEAD_D4;
  let key_column = params.d4 + head * HEAD_D4;
  var query: array<vec4f, HEAD_D4>;
  var upstream: array<vec4f, HEAD_D4>;
  var gradient: array<vec4f, HEAD_D4>;
  var d = 0.0;
  for (var c = 0u; c < HEAD_D4; c++) {
    query[c] = qkv[query_at + c] * params.scale;
    upstream[c] = dout[out_at + c];
    gradient[c] = vec4f();
    d += dot(upstream[c], out[out_at + c]);
  }
  let log_total = lse[t * params.heads + head];
  for (var key = t - records[t].z; key <= t; key++) {
    let key_at = key * stride + key_column;
    let value_at = key_at + params.d4;
    var score = 0.0;
    var slope = 0.0;
    for (var c = 0u; c < HEAD_D4; c++) {
      score += dot(query[c], qkv[key_at + c]);
      slope += dot(upstream[c], qkv[value_at + c]);
    }
    let weight = exp(score - log_total) * (slope - d);
    for (var c = 0u; c < HEAD_D4; c++) {
      gradient[c] += weight * qkv[key_at + c];
    }
  }
  for (var c = 0u; c < HEAD_D4; c++) {
    dqkv[query_at + c] = gradient[c] * params.scale;
  }
  delta[t * params.heads + head] = d;
}
