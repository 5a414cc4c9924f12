// Statistics of one optimiser step from the per-token records of ppo-loss: sums, one maximum, means over policy tokens
// (ALGORITHM sections 4 and 6).
//
// binding  name      shape       type  access
// 0        stats     [P, 8]      bits  read        see ppo-loss
// 1        partials  [lanes,12]  bits  read/write  per lane: policy loss, value loss, loss, H, kl, clipped, max |rho - 1|,
//                                                  unused (f32); policy tokens, tokens not finite, unused x 2 (u32)
// 2        record    [12]        bits  write       loss, policy loss, value loss, entropy, kl, clip fraction, max |rho - 1|,
//                                                  unused (f32); policy tokens, value tokens, not finite, unused (u32)
// 3        params    16 bytes    -     uniform     0 tokens P u32, 4 lanes u32 (a multiple of 64), 8 phase u32
//
// Workgroup: 64 lanes. Phase 0: lane k adds tokens k, k + lanes, ... Phase 1: one lane adds the partials. The order depends
// on P alone: no atomics, no barriers, the same bits at every micro-batch size. Limits: 3 storage buffers.
//
// Numerics: float32 sums of at most P / lanes terms, then of at most 1024. Tokens that are not finite are counted as
// integers; a loss that overflows in the sum is found in its bits. Oracle: test/oracle/loss.ts, 1e-5 absolute.

struct Params {
  tokens: u32,
  lanes: u32,
  phase: u32,
}

const EXPONENT = 0x7f800000u;

@group(0) @binding(0) var<storage, read> stats: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> partials: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> record: array<vec4u>;
@group(0) @binding(3) var<uniform> params: Params;

fn add_tokens(lane: u32) {
  var a = vec4f();
  var b = vec3f();
  var policy_tokens = 0u;
  var bad = 0u;
  for (var p = lane; p < params.tokens; p = p + params.lanes) {
    a += bitcast<vec4f>(stats[2u * p]);
    let second = stats[2u * p + 1u];
    let rest = bitcast<vec3f>(second.xyz);
    b = vec3f(b.xy + rest.xy, max(b.z, rest.z));
    policy_tokens += second.w & 1u;
    bad += second.w >> 1u;
  }
  partials[3u * lane] = bitcast<vec4u>(a);
  partials[3u * lane + 1u] = vec4u(bitcast<vec3u>(b), 0u);
  partials[3u * lane + 2u] = vec4u(policy_tokens, bad, 0u, 0u);
}

fn add_partials() {
  var a = vec4f();
  var b = vec3f();
  var policy_tokens = 0u;
  var bad = 0u;
  for (var lane = 0u; lane < params.lanes; lane = lane + 1u) {
    a += bitcast<vec4f>(partials[3u * lane]);
    let rest = bitcast<vec3f>(partials[3u * lane + 1u].xyz);
    b = vec3f(b.xy + rest.xy, max(b.z, rest.z));
    policy_tokens += partials[3u * lane + 2u].x;
    bad += partials[3u * lane + 2u].y;
  }
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
