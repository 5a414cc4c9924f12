// Statistics of one optimiser step from the per-token records of ppo-loss: sums, one maximum, means over policy tokens
// (docs/algorithm.md sections 4 and 6).
//
// binding  name      shape       type  access
// 0        stats     [P, 8]      bits  read        see ppo-loss
// 1        partials  [lanes,12]  bits  read/write  per lane: policy loss, value loss, loss, H, kl, clipped, max |rho -
//                                                  1|, unused (f32); policy tokens, tokens not finite, unused x 2 (u32)
// 2        record    [12]        bits  write       loss, policy loss, value loss, entropy, kl, clip fraction, max |rho
//                                                  - 1|, unused (f32); policy tokens, value tokens, not finite, unused
//                                                  (u32)
// 3        params    16 bytes    -     uniform     0 tokens P u32, 4 lanes u32 (a multiple of 64), 8 phase u32
//
// Workgroup: 64 lanes. Phase 0: lane k adds tokens k, k + lanes, ... Phase 1: one lane adds the partials. The order
// depends on P alone: no atomics, no barriers, the same bits at every micro-batch size. Limits: 3 storage buffers.
//
// Numerics: float32, added in blocks of 64 terms and then block by block: one running sum over thousands of equal terms
// drifts by 1e-4. Tokens that are not finite are counted as integers; a loss that overflows in the sum is found in its
// bits. Oracle: test/oracle/loss.ts, 1e-5 absolute.

struct Params {
  tokens: u32,
  lanes: u32,
  phase: u32,
}

const EXPONENT = 0x7f800000u;
const BLOCK = 64u;

@group(0) @binding(0) var<storage, read> stats: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> partials: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> record: array<vec4u>;
@group(0) @binding(3) var<uniform> params: Params;

struct Sums {
  a: vec4f, // policy loss, value loss, loss, H
  b: vec3f, // kl, clipped, max |rho - 1|
  policy_tokens: u32,
  bad: u32,
}

fn add(x: Sums, y: Sums) -> Sums {
  return Sums(
    x.a + y.a,
    vec3f(x.b.xy + y.b.xy, max(x.b.z, y.b.z)),
    x.policy_tokens + y.policy_tokens,
    x.bad + y.bad,
  );
}

fn token_sums(p: u32) -> Sums {
  let second = stats[2u * p + 1u];
  return Sums(bitcast<vec4f>(stats[2u * p]), bitcast<vec3f>(second.xyz), second.w & 1u, second.w >> 1u);
}

fn lane_sums(lane: u32) -> Sums {
  let counts = partials[3u * lane + 2u];
  return Sums(bitcast<vec4f>(partials[3u * lane]), bitcast<vec3f>(partials[3u * lane + 1u].xyz), counts.x, counts.y);
}

fn add_tokens(lane: u32) {
  var total = Sums();
  var p = lane;
  while (p < params.tokens) {
    var block = Sums();
    for (var k = 0u; k < BLOCK && p < params.tokens; k = k + 1u) {
      block = add(block, token_sums(p));
      p = p + params.lanes;
    }
    total = add(total, block);
  }
  partials[3u * lane] = bitcast<vec4u>(total.a);
  partials[3u * lane + 1u] = vec4u(bitcast<vec3u>(total.b), 0u);
  partials[3u * lane + 2u] = vec4u(total.policy_tokens, total.bad, 0u, 0u);
}

fn add_partials() {
  var total = Sums();
  for (var lane = 0u; lane < params.lanes; lane = lane + BLOCK) {
    var block = Sums();
    for (var k = 0u; k < BLOCK; k = k + 1u) {
      block = add(block, lane_sums(lane + k));
    }
    total = add(total, block);
  }
  let a = total.a;
  let b = total.b;
  let policy_tokens = total.policy_tokens;
  var bad = total.bad;
  let loss_bits = bitcast<u32>(a.z);
  if ((loss_bits & EXPONENT) == EXPONENT) {
    bad += 1u;
  }
  let mean = 1.0 / f32(max(policy_tokens, 1u));
  record[0] = vec4u(loss_bits, bitcast<vec3u>(vec3f(a.x, a.y, a.w * mean)));
  record[1] = vec4u(bitcast<vec3u>(vec3f(b.x * mean, b.y * mean, b.z)), 0u);
  record[2] = vec4u(policy_tokens, params.tokens, bad, 0u);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (params.phase == 0u) {
    if (id.x < params.lanes) {
      add_tokens(id.x);
    }
  } else if (id.x == 0u) {
    add_partials();
  }
}
