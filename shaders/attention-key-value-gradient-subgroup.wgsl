// Gradient of causal attention for keys and values, queries handed round the subgroup, over the row's queries i >= j:
//   p_i = exp(q_i . k * scale - lse_i),
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
// Written before this text: the directives of subgroups; HEAD_D4, width of a head / 4; LANES of a workgroup; SHARE
// lanes that load different queries (4 or 8, at most the subgroup's size).
// Workgroup: LANES lanes, one key a lane, one head a workgroup; a lane sums over queries, so that no atomics are
// needed, and queries go round as the keys do in attention-subgroup.wgsl. Limits: 6 storage buffers, feature
// `subgroups`, subgroups of at least SHARE lanes.
// Numerics: float32, queries in order. NaN passes through, also to the other rows of a subgroup (0 * NaN). Oracle:
// test/oracle/transformer.ts, 1e-5.

struct Params {
  tokens: u32,
  heads: u32,
  d4: u32,
  grid_width: u32,
  scale: f32,
}

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> delta: array<f32>;
@group(0) @binding(4) var<storage, read> dout: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> dqkv: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let tile = group.x + group.y * params.grid_width;
  let head = tile % params.heads;
  let token = (tile / params.heads) * LANES + lane.x;
  // No lane leaves early: all of them hold queries. One beyond the end repeats the last token and stores nothing.
  let j = min(token, params.tokens - 1u);
  let row_end = records[j].w;
  let stride = 3u * params.d4;
  let column = head * HEAD_D4;
  let key_at = j * stride + params.d4 + column;
  let value_at = key_at + params.d4;
  let share = subgroup_lane % SHARE;
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
  let end = subgroupMax(row_end);
  for (var block = subgroupMin(j); block < end; block += SHARE) {
    let own = min(block + share, end - 1u);
    let own_log_total = lse[own * params.heads + head];
    let own_delta = delta[own * params.heads + head];
    var own_query: array<vec4f, HEAD_D4>;
    var own_upstream: array<vec4f, HEAD_D4>;
    for (var c = 0u; c < HEAD_D4; c++) {
      own_query[c] = qkv[own * stride + column + c];
      own_upstream[c] = dout[own * params.d4 + column + c];
    }
    for (var i = 0u; i < SHARE; i++) {
      var query: array<vec4f, HEAD_D4>;
      var upstream: array<vec4f, HEAD_D4>;
      var score = 0.0;
      var slope = 0.0;
      for (var c = 0u; c < HEAD_D4; c++) {
        query[c] = subgroupShuffle(own_query[c], i);
        upstream[c] = subgroupShuffle(own_upstream[c], i);
        score += dot(key[c], query[c]);
        slope += dot(value[c], upstream[c]);
      }
      let mine = block + i >= j && block + i < row_end;
      let probability = select(0.0, exp(score - subgroupShuffle(own_log_total, i)), mine);
      let weight = probability * (slope - subgroupShuffle(own_delta, i));
      for (var c = 0u; c < HEAD_D4; c++) {
        key_gradient[c] += weight * query[c];
        value_gradient[c] += probability * upstream[c];
      }
    }
  }
  if (token >= params.tokens) {
    return;
  }
  for (var c = 0u; c < HEAD_D4; c++) {
    dqkv[key_at + c] = key_gradient[c] * params.scale;
    dqkv[value_at + c] = value_gradient[c];
  }
}
