// Causal attention of packed rows, one head, keys and values handed round the subgroup: o_t = sum over j <= t of
// softmax_j(q_t . k_j * scale) v_j. Keys of token t are the tokens t - position .. t of its own row.
//
// binding  name    shape               type   access
// 0        records [tokens]            vec4u  read     (token, previous token, position in the row, end of the row)
// 1        qkv     [tokens, 3, d / 4]  vec4f  read     query, key, value; each head-major
// 2        out     [tokens, d / 4]     vec4f  write
// 3        lse     [tokens, heads]     f32    write    log of the sum of exp(scores): kept for the backward pass
// 4        params  20 bytes            -      uniform  0 tokens u32, 4 heads u32, 8 d / 4 u32, 12 workgroups per grid
//                                                      line u32, 16 scale f32
//
// Written before this text: the directives of subgroups; HEAD_D4, width of a head / 4; LANES of a workgroup; SHARE
// lanes that load different keys (4 or 8, at most the subgroup's size).
// Workgroup: LANES lanes, one query a lane, one head a workgroup. A subgroup walks over the keys of all its queries;
// each lane loads one of SHARE keys, takes the others from its neighbours, and skips those that are not its own.
// Software adapters spend their time in loads, lane by lane. Limits: 4 storage buffers, feature `subgroups`, subgroups
// of at least SHARE lanes.
// Numerics: float32, online softmax, keys in order, rescaled when a larger score comes; a row's result does not depend
// on the rows around it while they are finite. NaN passes through, also to the other rows of a subgroup (0 * NaN).
// Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  tokens: u32,
  heads: u32,
  d4: u32,
  grid_width: u32,
  scale: f32,
}

// Below every score; finite, because infinity - infinity is NaN.
const LOWEST = -3.0e38;

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) lane: vec3u,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let tile = group.x + group.y * params.grid_width;
  let head = tile % params.heads;
  let token = (tile / params.heads) * LANES + lane.x;
  // No lane leaves early: all of them hold keys. One beyond the end repeats the last token and stores nothing.
  let t = min(token, params.tokens - 1u);
  let first = t - records[t].z;
  let stride = 3u * params.d4;
  let query_at = t * stride + head * HEAD_D4;
  let key_column = params.d4 + head * HEAD_D4;
  let share = subgroup_lane % SHARE;
  var query: array<vec4f, HEAD_D4>;
  var sum: array<vec4f, HEAD_D4>;
  for (var c = 0u; c < HEAD_D4; c++) {
    query[c] = qkv[query_at + c] * params.scale;
    sum[c] = vec4f();
  }
  var largest = LOWEST;
  var total = 0.0;
  let end = subgroupMax(t) + 1u;
  for (var block = subgroupMin(first); block < end; block += SHARE) {
    let own_at = min(block + share, end - 1u) * stride + key_column;
    var own_key: array<vec4f, HEAD_D4>;
    var own_value: array<vec4f, HEAD_D4>;
    for (var c = 0u; c < HEAD_D4; c++) {
      own_key[c] = qkv[own_at + c];
      own_value[c] = qkv[own_at + params.d4 + c];
    }
    for (var i = 0u; i < SHARE; i++) {
      var score = 0.0;
      for (var c = 0u; c < HEAD_D4; c++) {
        score += dot(query[c], subgroupShuffle(own_key[c], i));
      }
      let mine = block + i >= first && block + i <= t;
      let top = select(largest, max(largest, score), mine);
      let correction = exp(largest - top);
      let weight = select(0.0, exp(score - top), mine);
      largest = top;
      total = total * correction + weight;
      for (var c = 0u; c < HEAD_D4; c++) {
        sum[c] = sum[c] * correction + weight * subgroupShuffle(own_value[c], i);
      }
    }
  }
  if (token >= params.tokens) {
    return;
  }
  let out_at = t * params.d4 + head * HEAD_D4;
  for (var c = 0u; c < HEAD_D4; c++) {
    out[out_at + c] = sum[c] / total;
  }
  lse[t * params.heads + head] = largest + log(total);
}
