// Cross-segment GAE, CompactionRL Eq. 13-15, docs/algorithm.md section 3. For token i of a segment, N = trainable
// tokens after the segment:
//   A_i = r_i + gamma V_(i+1) - V_i + (gamma lambda) A_(i+1),
//   advantage_i = (gamma lambda)^N A_i,   target_i = A_i + V_i
//
// binding  name             shape        type  access
// 0        values           [P]          f32   read       V of the prefix before each trainable token
// 1        trainable_start  [R + 1]      u32   read       row r owns tokens
//                                                         trainable_start[r] .. trainable_start[r + 1]
// 2        rollout_start    [N + 1]      u32   read       rollout n owns rows rollout_start[n] .. rollout_start[n + 1]
// 3        rewards          [N]          f32   read       terminal reward
// 4        loss_of_trace    [R]          f32   read       c = 1 - gamma lambda, rounded once from float64 by the host
// 5        advantages       [P]          f32   write
// 6        targets          [P]          f32   write
// 7        params           32 bytes     -     uniform    0 rollouts u32, 4 gamma f32, 8 mode u32, 12 corrected u32,
//                                                         16 lanes per grid line u32
//
// Workgroup: 64 lanes, one rollout a lane, rows and tokens backwards. A rollout is a chain of dependent steps, so lanes
// over tokens would need a scan with barriers; rollouts are many and short. Limits: 7 storage buffers.
//
// Numerics: float32. c is stored instead of gamma lambda because the latter is near 1: its rounding error (2^-25) would
// be multiplied by the exponent, that of c is relative to a small number. The trace is A - c A; the power is kept as
// its complement, 1 - x^N, by squaring: nothing cancels, N = 0 gives exactly 1 also at lambda 0, and `pow` is not used.
// NaN and infinity pass through. Rows without tokens are skipped and are nobody's last segment.
// Oracle: test/oracle/advantages.ts, 1e-5 absolute.

struct Params {
  rollouts: u32,
  gamma: f32,
  mode: u32,
  corrected: u32,
  grid_width: u32,
}

const PAPER = 0u;
const UNCORRECTED = 1u;
const STITCHED = 2u;
const LAST_ONLY = 3u;

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> trainable_start: array<u32>;
@group(0) @binding(2) var<storage, read> rollout_start: array<u32>;
@group(0) @binding(3) var<storage, read> rewards: array<f32>;
@group(0) @binding(4) var<storage, read> loss_of_trace: array<f32>;
@group(0) @binding(5) var<storage, read_write> advantages: array<f32>;
@group(0) @binding(6) var<storage, read_write> targets: array<f32>;
@group(0) @binding(7) var<uniform> params: Params;

// (1 - c)^n. With x = 1 - r and y = 1 - s: x y = 1 - (r + s - r s).
fn power_of_complement(c: f32, n: u32) -> f32 {
  var r = 0.0;
  var s = c;
  var bits = n;
  while (bits > 0u) {
    if ((bits & 1u) == 1u) {
      r = r + s * (1.0 - r);
    }
    s = s + s * (1.0 - s);
    bits = bits >> 1u;
  }
  return 1.0 - r;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let n = id.x + id.y * params.grid_width;
  if (n >= params.rollouts) {
    return;
  }
  let first_row = rollout_start[n];
  var row = rollout_start[n + 1u];
  var after = 0u; // trainable tokens of later rows: N_{>s} of Eq. 14
  var seen = false; // a later row with tokens exists
  var next_advantage = 0.0;
  var next_value = 0.0;
  while (row > first_row) {
    row = row - 1u;
    let from_token = trainable_start[row];
    let end_token = trainable_start[row + 1u];
    if (end_token == from_token) {
      continue;
    }
    let c = loss_of_trace[row];
    var reward = rewards[n];
    if (params.mode == STITCHED || params.mode == LAST_ONLY) {
      reward = select(reward, 0.0, seen);
    }
    if (params.mode != STITCHED) {
      next_advantage = 0.0;
      next_value = 0.0;
    }
    var factor = 1.0;
    if (params.mode == PAPER) {
      factor = power_of_complement(c, after);
    }
    var p = end_token;
    while (p > from_token) {
      p = p - 1u;
      let value = values[p];
      let delta = reward + params.gamma * next_value - value;
      let local = delta + (next_advantage - c * next_advantage);
      let advantage = factor * local;
      advantages[p] = advantage;
      targets[p] = select(local, advantage, params.corrected == 1u) + value;
      next_advantage = local;
      next_value = value;
      reward = 0.0;
    }
    after = after + end_token - from_token;
    seen = true;
  }
}
