// decode-fused: whole decoding of small models, one lane = one job: feeds its tokens through the transformer, extends
// its KV cache, then samples until the stop token or the cap, in one dispatch.
//
//   x = wte[token] + wpe[position] (+ wte_prev[previous]);  per layer: x += proj(attention(ln_1(x))),
//   x += mlp_proj(relu(mlp_fc(ln_2(x))));  h = ln_f(x);  logits = h·lm_head + b;  V = h·value_head + b
//   id = first v with Σ_{w≤v} softmax(logits)_w > u,  u = unit_float(threefry(key, (stream, index))[0])
// Source: src/model/parameters.ts (model), docs/algorithm.md section 6 (T = 1, full softmax), shaders/threefry.wgsl
// (draws).
//
// Bindings (group 0). Written before this text: sizes of private arrays, offsets of the weights in 16 floats
// (src/gpu/kernels/decode-fused.ts); and decode-fused-lane.wgsl or decode-fused-subgroup.wgsl with bindings 1 to 3, the
// private arrays and the products.
//   0 embeddings  read        [vec4] f32: wte [V, d], wte_prev [V, d] if any, wpe [positions, d]: where the flat
//                             parameters begin
//   1 attention   uniform     f32: per layer ln_1, attn.qkv, attn.proj; at most 64 KiB, as the next two
//   2 mlp         uniform     f32: per layer ln_2, mlp.fc, mlp.proj
//   3 head        uniform     f32: ln_f, lm_head, value_head
//   4 cache       read/write  [layer, position, key d/4 ++ value d/4, slot] vec4 f32
//   5 jobs        read        [jobs, 12] u32: slot, start, feed_at, feed_count, previous, stop, cap, idle, stream,
//                             index, 0, 0; then all fed token ids; feed_at is an index into this array
//   6 out         write       [jobs, out_stride] vec4 u32: entry 0 = (next token, previous, sampled count n, done),
//                             entry 1 + i = (id, log-prob bits, value bits, 0) of sample i
//   7 params      uniform     see struct Params
// Params (bytes): 0 jobs, 4 step_begin, 8 step_end, 12 slots, 16 positions, 20 out_stride, 24 key0, 28 key1, 32 layers,
//   36 heads, 40 d4, 44 f4, 48 v4 (d, mlp, vocabulary / 4), 52 epsilon f32, 56 scale f32 = 1/sqrt(head width)
// Workgroup: WORKGROUP lanes, one job each, no barriers, no shared memory. Small groups spread 64 jobs over all cores.
//   A job idles `idle` steps so that the lanes of a group leave the prefill together (the head is then never computed
//   for a single lane). Steps step_begin ≤ step < step_end run; the state survives in out, so one submit stays short.
// Numerics: float32; sums in index order; online softmax over positions in order; cumulative probability in id order.
//   A lane never reads what another wrote: a result does not depend on the other jobs. NaN logits fall through to
//   the last id with a NaN log-prob. No trip count is a constant except the head width: drivers unroll constant loops,
//   and the first dispatch then takes up to a minute on software adapters. Products keep 16 outputs in registers, as
//   each read of a private array costs a software adapter a gather: all widths are multiples of 16.
// Oracle: test/oracle/decode.ts (float64, no cache); log-probs and values within 1e-4 (test/gpu/decode.test.ts).

struct Params {
  jobs: u32, step_begin: u32, step_end: u32, slots: u32,
  positions: u32, out_stride: u32, key0: u32, key1: u32,
  layers: u32, heads: u32, d4: u32, f4: u32,
  v4: u32, epsilon: f32, scale: f32,
}

@group(0) @binding(0) var<storage, read> embeddings: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> cache: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> jobs: array<u32>;
@group(0) @binding(6) var<storage, read_write> out: array<vec4<u32>>;
@group(0) @binding(7) var<uniform> params: Params;

// The input of a product is read one float at a time.
fn write_h(i: u32, v: vec4<f32>) {
  h[4u * i] = v.x;
  h[4u * i + 1u] = v.y;
  h[4u * i + 2u] = v.z;
  h[4u * i + 3u] = v.w;
}

// Mean and 1/std of x over the model width.
fn moments() -> vec2<f32> {
  var sum = vec4<f32>();
  for (var i = 0u; i < params.d4; i++) { sum += x[i]; }
  let n = 4.0 * f32(params.d4);
  let mean = dot(sum, vec4<f32>(1.0)) / n;
  var squares = vec4<f32>();
  for (var i = 0u; i < params.d4; i++) {
    let c = x[i] - mean;
    squares = fma(c, c, squares);
  }
  return vec2<f32>(mean, inverseSqrt(dot(squares, vec4<f32>(1.0)) / n + params.epsilon));
}

// Writes key and value of this position, then h = causal attention of y's query over positions 0 … position.
fn attend(layer: u32, position: u32, slot: u32, works: bool) {
  let d4 = params.d4;
  let stride = 2u * d4 * params.slots;
  let base = layer * params.positions * stride + slot;
  let own = base + position * stride;
  if (works) {
    for (var c = 0u; c < 2u * d4; c++) { cache[own + c * params.slots] = y[d4 + c]; }
  }
  for (var hd = 0u; hd < params.heads; hd++) {
    let first = hd * HEAD_D4;
    var q: array<vec4<f32>, HEAD_D4>;
    var acc: array<vec4<f32>, HEAD_D4>;
    for (var c = 0u; c < HEAD_D4; c++) { q[c] = y[first + c] * params.scale; }
    var top = -1e30;
    var total = 0.0;
    var key_at = base + first * params.slots;
    for (var t = 0u; t <= position; t++) {
      var score = 0.0;
      for (var c = 0u; c < HEAD_D4; c++) { score += dot(q[c], cache[key_at + c * params.slots]); }
      // Online softmax: one exponential serves as the new weight or as the rescaling of the old ones.
      let e = exp(-abs(score - top));
      let rises = score > top;
      let weight = select(e, 1.0, rises);
      let keep = select(1.0, e, rises);
      top = max(top, score);
      total = total * keep + weight;
      let value_at = key_at + d4 * params.slots;
      for (var c = 0u; c < HEAD_D4; c++) {
        acc[c] = fma(cache[value_at + c * params.slots], vec4<f32>(weight), acc[c] * keep);
      }
      key_at += stride;
    }
    for (var c = 0u; c < HEAD_D4; c++) { write_h(first + c, acc[c] / total); }
  }
}

// One quarter of a block: 0 qkv, 1 attention and projection, 2 MLP hidden, 3 MLP output. The quarters share their code,
// so that each product stands in the text once.
fn quarter(kind: u32, layer: u32, position: u32, slot: u32, works: bool) {
  let d4 = params.d4;
  let a = layer * ATTENTION_STRIDE;
  let b = layer * MLP_STRIDE;
  if (kind == 1u) {
    attend(layer, position, slot, works);
  } else if (kind == 3u) {
    for (var i = 0u; i < params.f4; i++) { write_h(i, max(y[i], vec4<f32>())); }
  } else {
    let m = moments();
    for (var i = 0u; i < d4; i++) {
      let e = i / 4u;
      let c = i % 4u;
      let weight = select(mlp_at(b + e, c), attention_at(a + e, c), kind == 0u);
      let bias = select(mlp_at(b + LN_BIAS + e, c), attention_at(a + LN_BIAS + e, c), kind == 0u);
      write_h(i, fma((x[i] - m.x) * m.y, weight, bias));
    }
  }
  if (kind < 2u) {
    let first = kind == 0u;
    attention_product(
      a + select(PROJ_WEIGHT, QKV_WEIGHT, first), a + select(PROJ_BIAS, QKV_BIAS, first), 4u * d4,
      select(d4, 3u * d4, first) / 4u);
  } else {
    let first = kind == 2u;
    mlp_product(b + select(MLP_PROJ_WEIGHT, FC_WEIGHT, first), b + select(MLP_PROJ_BIAS, FC_BIAS, first),
      4u * select(params.f4, d4, first), select(d4, params.f4, first) / 4u);
  }
  if ((kind & 1u) == 1u) {
    for (var i = 0u; i < d4; i++) { x[i] += y[i]; }
  }
}

// Logits into y; returns the value.
fn output_head() -> f32 {
  let m = moments();
  var value = head_at(VALUE_BIAS, 0u).x;
  for (var i = 0u; i < params.d4; i++) {
    let v = fma((x[i] - m.x) * m.y, head_at(i / 4u, i % 4u), head_at(LN_BIAS + i / 4u, i % 4u));
    value += dot(v, head_at(VALUE_WEIGHT + i / 4u, i % 4u));
    write_h(i, v);
  }
  head_product(LM_WEIGHT, LM_BIAS, 4u * params.d4, params.v4 / 4u);
  return value;
}

// Inverse CDF over the logits in y. Returns (id, log-prob bits).
fn draw(u: f32) -> vec2<u32> {
  var top4 = y[0];
  for (var i = 1u; i < params.v4; i++) { top4 = max(top4, y[i]); }
  let top = max(max(top4.x, top4.y), max(top4.z, top4.w));
  var total = 0.0;
  for (var i = 0u; i < params.v4; i++) {
    let e = exp(y[i] - top);
    total = (((total + e.x) + e.y) + e.z) + e.w;
  }
  let target_sum = u * total;
  var sum = 0.0;
  var id = 4u * params.v4 - 1u;
  for (var i = 0u; i < params.v4; i++) {
    let e = exp(y[i] - top);
    let s0 = sum + e.x;
    let s1 = s0 + e.y;
    let s2 = s1 + e.z;
    sum = s2 + e.w;
    if (sum > target_sum) {
      id = 4u * i + select(select(select(3u, 2u, s2 > target_sum), 1u, s1 > target_sum), 0u, s0 > target_sum);
      break;
    }
  }
  let logp = y[id / 4u][id % 4u] - top - log(total);
  return vec2<u32>(id, bitcast<u32>(logp));
}

// The work of lane `lane`; the entry point stands with the products.
fn decode(lane: u32) {
  // Lanes that have no job, wait or are done go on with the others of their group while any of those works, as they may
  // hold weights for them; they attend to one position and store nothing.
  let has_job = lane < params.jobs;
  let job = min(lane, params.jobs - 1u);
  let record = job * 12u;
  let slot = jobs[record];
  let start = jobs[record + 1u];
  let feed_at = jobs[record + 2u];
  let feed_count = jobs[record + 3u];
  let stop = jobs[record + 5u];
  let cap = jobs[record + 6u];
  let idle = jobs[record + 7u];
  let stream = jobs[record + 8u];
  let index = jobs[record + 9u];
  let result = job * params.out_stride;
  var state = out[result];
  if (params.step_begin == 0u) { state = vec4<u32>(0u, jobs[record + 4u], 0u, 0u); }
  for (var step = params.step_begin; step < params.step_end; step++) {
    let works = has_job && step >= idle && state.w == 0u;
    if (!any_lane(has_job && state.w == 0u)) { break; }
    if (!any_lane(works)) { continue; }
    let fed = select(0u, step - idle, works);
    let position = select(0u, start + fed, works);
    var token = state.x;
    if (fed < feed_count) { token = jobs[feed_at + fed]; }
    // parameters.ts: at position 0 the previous token counts as token 0.
    let previous = select(state.y, 0u, position == 0u);
    for (var i = 0u; i < params.d4; i++) {
      var e = embeddings[token * params.d4 + i] + embeddings[WPE + position * params.d4 + i];
      if (HAS_PREVIOUS) { e += embeddings[WTE_PREVIOUS + previous * params.d4 + i]; }
      x[i] = e;
    }
    for (var part = 0u; part < 4u * params.layers; part++) { quarter(part & 3u, part >> 2u, position, slot, works); }
    let samples = works && fed + 1u >= feed_count;
    if (works) { state.y = token; }
    if (!any_lane(samples)) { continue; }
    let value = output_head();
    if (samples) {
      let bits = threefry(vec2<u32>(params.key0, params.key1), vec2<u32>(stream, index + state.z));
      let sampled = draw(unit_float(bits.x));
      out[result + 1u + state.z] = vec4<u32>(sampled, bitcast<u32>(value), 0u);
      state.x = sampled.x;
      state.z += 1u;
      if (sampled.x == stop || state.z >= cap) { state.w = 1u; }
    }
  }
  if (has_job) { out[result] = state; }
}
