// Log-softmax of each row of logits, at temperature 1: logp = l[target] - lse, H = - sum p log p, lse = log sum exp(l).
//
// binding  name     shape                    type   access
// 0        logits   [count, vocabulary / 4]  vec4f  read
// 1        targets  [>= first + count]       u32    read     token id of each row
// 2        logp     [>= first + count]       f32    write    nats
// 3        entropy  [>= first + count]       f32    write    nats
// 4        lse      [count]                  f32    write    for logits-gradient.wgsl
// 5        params   16 bytes                 -      uniform  u32 at 0 count, 4 first, 8 vocabulary / 4, 12 lanes per
//                                                            grid line
//
// Row i belongs to entry first + i of targets, logp and entropy. Workgroup: 64 lanes, one row a lane, so that a row
// never depends on its neighbours. Limits: 5 storage buffers.
// Numerics: float32; maximum first, then sums of e = exp(l - max) and e (l - max), tokens in order, four interleaved.
// NaN passes through. Oracle: test/oracle/transformer.ts, 1e-5.

struct Params {
  count: u32,
  first: u32,
  v4: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read_write> logp: array<f32>;
@group(0) @binding(3) var<storage, read_write> entropy: array<f32>;
@group(0) @binding(4) var<storage, read_write> lse: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;

fn total(v: vec4f) -> f32 {
  return (v.x + v.y) + (v.z + v.w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x + id.y * params.grid_width;
  if (row >= params.count) {
    return;
  }
  let base = row * params.v4;
  var largest = logits[base];
  for (var c = 1u; c < params.v4; c++) {
    largest = max(largest, logits[base + c]);
  }
  let top = max(max(largest.x, largest.y), max(largest.z, largest.w));
  var sums = vec4f();
  var weighted = vec4f();
  for (var c = 0u; c < params.v4; c++) {
    let shifted = logits[base + c] - top;
    let e = exp(shifted);
    sums += e;
    weighted += e * shifted;
  }
  let log_total = log(total(sums));
  let wanted = targets[params.first + row];
  logp[params.first + row] = logits[base + wanted / 4u][wanted % 4u] - top - log_total;
  entropy[params.first + row] = log_total - total(weighted) / total(sums);
  lse[row] = top + log_total;
}
