// decode-attention: o_row = sum over j <= position of softmax_j(q_row . k_j * scale) v_j, keys and values from the
// cache of the row's slot. The row's own key is in the cache already (decode-cache).
// Source: src/model/parameters.ts.
//
// binding  name     shape                        type   access
// 0        records  [rows]                       vec4u  read   (token, previous, position, slot; NONE: skip the row)
// 1        qkv      [rows, 3 d / 4]              vec4f  read   the query third; head-major
// 2        cache    [slots, positions, 2 d / 4]  vec4f  read   key, value of one layer
// 3        out      [rows, d / 4]                vec4f  write
// 4        params   24 bytes                     -      uniform  u32 at 0 rows, 4 heads, 8 d / 4, 12 positions, 16
//                                                                lanes per grid line; f32 at 20 scale
//
// Constant written before this text: HEAD_D4, width of a head / 4 (private arrays need a constant size).
// Workgroup: 64 lanes, one (row, head) a lane, nothing shared. Limits: 4 storage buffers.
// Numerics: float32, online softmax over groups of four keys counted from position 0: a row's result depends neither on
// the other rows nor on how its context was cut into calls. NaN passes through. Rows without a slot keep what out held.
// Oracle: test/oracle/decode.ts, 1e-4 on log-probs (test/gpu/decode.test.ts).

const NONE = 0xffffffffu;
// Below every score; finite, because infinity - infinity is NaN.
const LOWEST = -3.0e38;

struct Params {
  rows: u32,
  heads: u32,
  d4: u32,
  positions: u32,
  grid_width: u32,
  scale: f32,
}

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read> cache: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  let row = i / params.heads;
  if (row >= params.rows) {
    return;
  }
  let record = records[row];
  if (record.w == NONE) {
    return;
  }
  let first_column = (i % params.heads) * HEAD_D4;
  let width = 2u * params.d4;
  let base = record.w * params.positions * width + first_column;
  let position = record.z;
  var query: array<vec4f, HEAD_D4>;
  var sum: array<vec4f, HEAD_D4>;
  for (var c = 0u; c < HEAD_D4; c++) {
    query[c] = qkv[row * 3u * params.d4 + first_column + c] * params.scale;
    sum[c] = vec4f();
  }
  var largest = LOWEST;
  var total = 0.0;
  for (var first = 0u; first <= position; first += 4u) {
    let keys = vec4u(first, first + 1u, first + 2u, first + 3u);
    let at = base + min(keys, vec4u(position)) * width;
    var scores = vec4f();
    for (var c = 0u; c < HEAD_D4; c++) {
      let q = query[c];
      scores += vec4f(
        dot(q, cache[at.x + c]), dot(q, cache[at.y + c]), dot(q, cache[at.z + c]), dot(q, cache[at.w + c]));
    }
    scores = select(vec4f(LOWEST), scores, keys <= vec4u(position));
    let new_largest = max(max(max(scores.x, scores.y), max(scores.z, scores.w)), largest);
    let weights = exp(scores - new_largest);
    let correction = exp(largest - new_largest);
    largest = new_largest;
    total = total * correction + ((weights.x + weights.y) + (weights.z + weights.w));
    for (var c = 0u; c < HEAD_D4; c++) {
      let column = params.d4 + c;
      sum[c] = sum[c] * correction + weights.x * cache[at.x + column] + weights.y * cache[at.y + column]
        + weights.z * cache[at.z + column] + weights.w * cache[at.w + column];
    }
  }
  for (var c = 0u; c < HEAD_D4; c++) {
    out[row * params.d4 + first_column + c] = sum[c] / total;
  }
}
