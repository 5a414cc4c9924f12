// sample: inverse-CDF sampling at temperature 1 from the full softmax, and the next row to feed.
//   id = first v with sum over w <= v of softmax(logits)_w > u,   u = unit_float(threefry(key, (stream, index + n))[0])
// Source: docs/algorithm.md section 6 (T = 1, full softmax); shaders/threefry.wgsl, whose text comes before this one.
//
// binding  name     shape                 type   access
// 0        logits   [rows, vocabulary/4]  vec4f  read
// 1        values   [rows]                f32    read        V of the prefix
// 2        jobs     [jobs, 8]             u32    read        base, result_at, stop, cap, stream, index, 0, 0
// 3        records  [jobs]                vec4u  read/write  in: the row just fed (token, previous, position, slot);
//                                                            out: the next row; slot NONE once the job is done
// 4        results  [...]                 vec4u  write       results[result_at + n] = (id, log-prob bits, value bits,
//                                                            0)
// 5        params   20 bytes              -      uniform     u32 at 0 rows, 4 first, 8 vocabulary / 4, 12 key0, 16 key1
//
// Row i belongs to job first + i. base = position of the job's last fed token, so n = position - base samples came
// before.
// Workgroup: 8 lanes, one row a lane, no barriers: a few hundred logits a lane, and small groups reach every core.
// Limits: 5 storage buffers.
// Numerics: float32, sums in id order, the largest logit subtracted. NaN logits, and rounding at the very end of the
// CDF, fall through to the last id. Oracle: test/oracle/decode.ts; test/gpu/decode.test.ts, log-prob 1e-4, draws 1e-5
// of the CDF.

const NONE = 0xffffffffu;

struct Params {
  rows: u32,
  first: u32,
  v4: u32,
  key0: u32,
  key1: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> jobs: array<u32>;
@group(0) @binding(3) var<storage, read_write> records: array<vec4u>;
@group(0) @binding(4) var<storage, read_write> results: array<vec4u>;
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= params.rows) {
    return;
  }
  let job = params.first + row;
  let record = records[job];
  if (record.w == NONE) {
    return;
  }
  let at = row * params.v4;
  var largest4 = logits[at];
  for (var i = 1u; i < params.v4; i++) {
    largest4 = max(largest4, logits[at + i]);
  }
  let largest = max(max(largest4.x, largest4.y), max(largest4.z, largest4.w));
  var total = 0.0;
  for (var i = 0u; i < params.v4; i++) {
    let e = exp(logits[at + i] - largest);
    total = (((total + e.x) + e.y) + e.z) + e.w;
  }
  let n = record.z - jobs[job * 8u];
  let bits = threefry(vec2u(params.key0, params.key1), vec2u(jobs[job * 8u + 4u], jobs[job * 8u + 5u] + n));
  let bound = unit_float(bits.x) * total;
  var sum = 0.0;
  var token = 4u * params.v4 - 1u;
  var logit = logits[at + params.v4 - 1u].w;
  for (var i = 0u; i < params.v4; i++) {
    let four = logits[at + i];
    let e = exp(four - largest);
    let s0 = sum + e.x;
    let s1 = s0 + e.y;
    let s2 = s1 + e.z;
    sum = s2 + e.w;
    if (sum > bound) {
      let lane = select(select(select(3u, 2u, s2 > bound), 1u, s1 > bound), 0u, s0 > bound);
      token = 4u * i + lane;
      logit = four[lane];
      break;
    }
  }
  let logp = logit - largest - log(total);
  results[jobs[job * 8u + 1u] + n] = vec4u(token, bitcast<u32>(logp), bitcast<u32>(values[row]), 0u);
  let done = token == jobs[job * 8u + 2u] || n + 1u >= jobs[job * 8u + 3u];
  records[job] = vec4u(token, record.x, record.z + 1u, select(record.w, NONE, done));
}
