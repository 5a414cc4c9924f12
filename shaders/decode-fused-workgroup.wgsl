// decode-fused-workgroup: whole decoding, one workgroup = one job: feeds its tokens through the transformer, extends
// its KV cache, then samples until the stop token or the cap, in one dispatch. The lanes share every matrix product.
//
//   x = wte[token] + wpe[position] (+ wte_prev[previous]);  per layer: x += proj(attention(ln_1(x))),
//   x += mlp_proj(relu(mlp_fc(ln_2(x))));  h = ln_f(x);  logits = h·lm_head + b;  V = h·value_head + b
//   id = first v with Σ_{w≤v} softmax(logits)_w > u,  u = unit_float(threefry(key, (stream, index))[0])
// Source: src/model/parameters.ts (model), docs/algorithm.md section 6 (T = 1, full softmax); shaders/threefry.wgsl,
// whose text comes before this one, and decode-fused-workgroup-attention.wgsl, whose text comes after it.
//
// binding  name        shape                                  type   access
// 0        parameters  the flat parameters                    vec4f  read
// 1        cache       [layers, slots, 2, positions · d/4]    vec4f  read/write  keys as [d/4, positions], values as
//                                                                                [positions, d/4]: neighbouring lanes
//                                                                                read neighbouring addresses of both
// 2        jobs        [jobs, 12]                             u32    read        slot, start, feed_at, feed_count,
//                                                                                previous, stop, cap, 0, stream, index,
//                                                                                0, 0; then all fed token ids, feed_at
//                                                                                is an index here
// 3        out         [jobs, out_stride]                     vec4u  read/write  entry 0 = (next token, previous,
//                                                                                sampled count n, done), entry 1 + i =
//                                                                                (id, log-prob bits, value bits, 0) of
//                                                                                sample i
// 4        params      224 bytes                              -      uniform     in the order of struct Params; names
//                                                                                in 4 and offsets into parameters count
//                                                                                vec4, those of a block from its start
// Overrides: LANES, and the lengths of the workgroup arrays.
//
// Workgroup: LANES (64 or 256) lanes on one job. Activations are in workgroup memory (at most 16 KiB, which every
// device has); W is [in, out], so neighbouring lanes take neighbouring outputs and read neighbouring weights. Where a
// product has fewer outputs than lanes, the lanes split the inputs too. For hardware: about 20 barriers a layer, which
// software adapters are slow at. Steps step_begin <= step < step_end run; the state survives in out. Limits: 4 storage
// buffers, 256 lanes.
// Numerics: float32. Sums over inputs and positions go by fixed parts, the parts are added in order; softmax is online
// over tiles of positions counted from 0; the CDF adds blocks of ids in order, so it rounds differently from
// sample.wgsl. All orders depend on the shape alone: a result depends neither on the other jobs nor on how steps are
// cut into submits. NaN logits fall through to the last id with a NaN log-prob.
// Oracle: test/oracle/decode.ts (float64, no cache); log-probs and values within 1e-4 (test/gpu/decode.test.ts).

override LANES: u32;
override D4: u32;
// Widest input and output of a product.
override H4: u32;
override Y4: u32;
override HEADS: u32;
// heads · tile
override SCORES: u32;

// Below every score; finite, because infinity - infinity is NaN.
const LOWEST = -3.0e38;
const JOB_WORDS = 12u;

struct Params {
  jobs: u32, step_begin: u32, step_end: u32, slots: u32,
  positions: u32, out_stride: u32, key0: u32, key1: u32,
  grid_width: u32, layers: u32, heads: u32, d4: u32,
  f4: u32, v4: u32, tile: u32, epsilon: f32,
  scale: f32, has_previous: u32, wte_previous: u32, wpe: u32,
  blocks: u32, block_stride: u32, value_weight: u32, value_bias: u32,
  // (weight, bias) of ln_1, ln_2, ln_f; (weight, bias, inputs / 4, outputs / 4) of qkv, proj, mlp fc, mlp proj,
  // lm_head.
  norms: array<vec4u, 3>,
  products: array<vec4u, 5>,
}

@group(0) @binding(0) var<storage, read> parameters: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> cache: array<vec4f>;
@group(0) @binding(2) var<storage, read> jobs: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4u>;
@group(0) @binding(4) var<uniform> params: Params;

// Residual stream, input and output of the current product.
var<workgroup> x: array<vec4f, D4>;
var<workgroup> h: array<vec4f, H4>;
var<workgroup> y: array<vec4f, Y4>;
// One entry a lane: parts of sums that other lanes finish.
var<workgroup> partials: array<vec4f, LANES>;
var<workgroup> maxima: array<f32, LANES>;
var<workgroup> sums: array<f32, LANES>;
// [heads, tile]
var<workgroup> scores: array<f32, SCORES>;
var<workgroup> head_factors: array<f32, HEADS>;
var<workgroup> chosen: atomic<u32>;
var<workgroup> job_state: vec4u;

// h = layer norm of x. Every lane computes the moments itself: a few broadcast reads cost less than a barrier.
fn layer_norm(weight: u32, bias: u32, lane: u32) {
  var sum = vec4f();
  for (var i = 0u; i < params.d4; i++) {
    sum += x[i];
  }
  let n = 4.0 * f32(params.d4);
  let mean = dot(sum, vec4f(1.0)) / n;
  var squares = vec4f();
  for (var i = 0u; i < params.d4; i++) {
    let c = x[i] - mean;
    squares = fma(c, c, squares);
  }
  let inverse_std = inverseSqrt(dot(squares, vec4f(1.0)) / n + params.epsilon);
  if (lane < params.d4) {
    h[lane] = fma((x[lane] - mean) * inverse_std, parameters[weight + lane], parameters[bias + lane]);
  }
}

// h[0..in4) · W + bias goes to y, or is added to x. A barrier comes after it.
fn product(weight: u32, bias: u32, in4: u32, out4: u32, to_x: bool, lane: u32) {
  let columns = min(out4, LANES);
  let parts = LANES / columns;
  let part = lane / columns;
  let part_inputs = (in4 + parts - 1u) / parts;
  let begin = part * part_inputs;
  let end = select(0u, min(begin + part_inputs, in4), part < parts);
  // More than one round only where there is one part.
  for (var first = 0u; first < out4; first += LANES) {
    let column = first + lane % columns;
    var sum = vec4f();
    if (column < out4) {
      if (part == 0u) {
        sum = parameters[bias + column];
      }
      var at = weight + 4u * begin * out4 + column;
      for (var i = begin; i < end; i++) {
        let v = h[i];
        sum = fma(vec4f(v.x), parameters[at], sum);
        sum = fma(vec4f(v.y), parameters[at + out4], sum);
        sum = fma(vec4f(v.z), parameters[at + 2u * out4], sum);
        sum = fma(vec4f(v.w), parameters[at + 3u * out4], sum);
        at += 4u * out4;
      }
    }
    if (parts > 1u) {
      partials[lane] = sum;
      workgroupBarrier();
      if (lane < columns) {
        for (var p = 1u; p < parts; p++) {
          sum += partials[p * columns + lane];
        }
      }
    }
    if (part == 0u && column < out4) {
      if (to_x) {
        x[column] += sum;
      } else {
        y[column] = sum;
      }
    }
  }
  workgroupBarrier();
}

// One product and what prepares its input: 0 qkv, 1 attention and projection, 2 MLP hidden, 3 MLP output, 4 logits
// (into y). Returns the value after kind 4, on lane 0. The kinds share their code, so that each part stands in the text
// once: it is inlined where it is called, and a software adapter compiles for seconds.
fn stage(kind: u32, layer: u32, slot: u32, position: u32, lane: u32) -> f32 {
  let at = select(params.blocks + layer * params.block_stride, 0u, kind == 4u);
  var value = 0.0;
  if (kind == 1u) {
    attend(layer, slot, position, lane);
  } else if (kind == 3u) {
    for (var i = lane; i < params.f4; i += LANES) {
      // Keeps NaN, as matmul.wgsl does.
      h[i] = select(y[i], vec4f(), y[i] < vec4f());
    }
  } else {
    let norm = params.norms[kind / 2u];
    layer_norm(at + norm.x, at + norm.y, lane);
    if (kind == 4u && lane < params.d4) {
      sums[lane] = dot(h[lane], parameters[params.value_weight + lane]);
    }
  }
  workgroupBarrier();
  if (kind == 4u && lane == 0u) {
    value = parameters[params.value_bias].x;
    for (var i = 0u; i < params.d4; i++) {
      value += sums[i];
    }
  }
  let table = params.products[kind];
  product(at + table.x, at + table.y, table.z, table.w, (kind & 1u) == 1u, lane);
  return value;
}

// Inverse CDF over the logits in y; a lane has a block of neighbouring ids. Returns (id, log-prob bits) on every lane.
fn draw(u: f32, lane: u32) -> vec2u {
  let size = (params.v4 + LANES - 1u) / LANES;
  let blocks = (params.v4 + size - 1u) / size;
  let begin = lane * size;
  let end = min(begin + size, params.v4);
  var top4 = vec4f(LOWEST);
  for (var i = begin; i < end; i++) {
    top4 = max(top4, y[i]);
  }
  maxima[lane] = max(max(top4.x, top4.y), max(top4.z, top4.w));
  workgroupBarrier();
  var top = LOWEST;
  for (var i = 0u; i < blocks; i++) {
    top = max(top, maxima[i]);
  }
  var own = 0.0;
  for (var i = begin; i < end; i++) {
    let e = exp(y[i] - top);
    own = (((own + e.x) + e.y) + e.z) + e.w;
  }
  sums[lane] = own;
  if (lane == 0u) {
    atomicStore(&chosen, 4u * params.v4 - 1u);
  }
  workgroupBarrier();
  var before = 0.0;
  var total = 0.0;
  for (var i = 0u; i < blocks; i++) {
    before = select(before, total, i == lane);
    total += sums[i];
  }
  let bound = u * total;
  var sum = before;
  for (var i = begin; i < end; i++) {
    let e = exp(y[i] - top);
    let s0 = sum + e.x;
    let s1 = s0 + e.y;
    let s2 = s1 + e.z;
    sum = s2 + e.w;
    if (sum > bound) {
      // The first of all lanes' ids: blocks may overlap or leave a gap by a rounding.
      atomicMin(&chosen, 4u * i + select(select(select(3u, 2u, s2 > bound), 1u, s1 > bound), 0u, s0 > bound));
      break;
    }
  }
  workgroupBarrier();
  let id = atomicLoad(&chosen);
  let logp = y[id / 4u][id % 4u] - top - log(total);
  return vec2u(id, bitcast<u32>(logp));
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let job = group.x + group.y * params.grid_width;
  if (job >= params.jobs) {
    return;
  }
  let record = job * JOB_WORDS;
  let slot = jobs[record];
  let start = jobs[record + 1u];
  let feed_at = jobs[record + 2u];
  let feed_count = jobs[record + 3u];
  let stop = jobs[record + 5u];
  let cap = jobs[record + 6u];
  let stream = jobs[record + 8u];
  let first_draw = jobs[record + 9u];
  let result = job * params.out_stride;
  if (lane == 0u) {
    if (params.step_begin == 0u) {
      job_state = vec4u(0u, jobs[record + 4u], 0u, 0u);
    } else {
      job_state = out[result];
    }
  }
  var state = workgroupUniformLoad(&job_state);
  for (var step = params.step_begin; step < params.step_end && state.w == 0u; step++) {
    let position = start + step;
    var token = state.x;
    if (step < feed_count) {
      token = jobs[feed_at + step];
    }
    // parameters.ts: at position 0 the previous token counts as token 0.
    let previous = select(state.y, 0u, position == 0u);
    if (lane < params.d4) {
      var e = parameters[token * params.d4 + lane] + parameters[params.wpe + position * params.d4 + lane];
      if (params.has_previous != 0u) {
        e += parameters[params.wte_previous + previous * params.d4 + lane];
      }
      x[lane] = e;
    }
    workgroupBarrier();
    let samples = step + 1u >= feed_count;
    var value = 0.0;
    for (var i = 0u; i < 4u * params.layers + select(0u, 1u, samples); i++) {
      value = stage(select(i & 3u, 4u, i == 4u * params.layers), i >> 2u, slot, position, lane);
    }
    state.y = token;
    if (samples) {
      let bits = threefry(vec2u(params.key0, params.key1), vec2u(stream, first_draw + state.z));
      let sampled = draw(unit_float(bits.x), lane);
      if (lane == 0u) {
        out[result + 1u + state.z] = vec4u(sampled, bitcast<u32>(value), 0u);
        let count = state.z + 1u;
        job_state = vec4u(sampled.x, token, count, select(0u, 1u, sampled.x == stop || count >= cap));
      }
      state = workgroupUniformLoad(&job_state);
    }
  }
  if (lane == 0u) {
    out[result] = state;
  }
}
