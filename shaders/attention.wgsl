// Causal attention of packed rows, one head: o_t = sum over j <= t of softmax_j(q_t . k_j * scale) v_j.
// Keys of token t are the tokens t - position .. t of its own row.
//
// binding  name    shape               type   access
// 0        records [tokens]            vec4u  read     (token, previous token, position in the row, end of the row)
// 1        qkv     [tokens, 3, d / 4]  vec4f  read     query, key, value; each head-major
// 2        out     [tokens, d / 4]     vec4f  write
// 3        lse     [tokens, heads]     f32    write    log of the sum of exp(scores): kept for the backward pass
// 4        params  20 bytes            -      uniform  0 tokens u32, 4 heads u32, 8 d / 4 u32, 12 workgroups per grid
//                                                      line u32, 16 scale f32
//
// Constant written before this text: HEAD_D4, width of a head / 4 (private arrays need a constant size).
// Workgroup: 64 lanes, one query a lane, one head a workgroup; nothing shared. Limits: 4 storage buffers.
// Numerics: float32, online softmax, keys in order, rescaled when a larger score comes; a row's result does not depend
// on the rows around it. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  tokens: u32,
  heads: u32,
  d4: u32,
  grid_width: u32,
  scale: f32,
}

const LANES = 64u;
// Below every score; finite, because infinity - infinity is NaN.
const LOWEST = -3.0e38;

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

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
  let key_column = params.d4 + head * HEAD_D4;
  var query: array<vec4f, HEAD_D4>;
  var sum: array<vec4f, HEAD_D4>;
  for (var c = 0u; c < HEAD_D4; c++) {
    query[c] = qkv[query_at + c] * params.scale;
    sum[c] = vec4f();
  }
  var largest = LOWEST;
  var total = 0.0;
  for (var key = t - records[t].z; key <= t; key++) {
    let key_at = key * stride + key_column;
    let value_at = key_at + params.d4;
    var score = 0.0;
    for (var c = 0u; c < HEAD_D4; c++) {
      score += dot(query[c], qkv[key_at + c]);
    }
    if (score > largest) {
      let correction = exp(largest - score);
      largest = score;
      total *= correction;
      for (var c = 0u; c < HEAD_D4; c++) {
        sum[c] *= correction;
      }
    }
    let weight = exp(score - largest);
    total += weight;
    for (var c = 0u; c < HEAD_D4; c++) {
      sum[c] += weight * qkv[value_at + c];
    }
  }
  let out_at = t * params.d4 + head * HEAD_D4;
  for (var c = 0u; c < HEAD_D4; c++) {
    out[out_at + c] = sum[c] / total;
  }
  lse[t * params.heads + head] = largest + log(total);
}
