// Weight of every token in the sums of the loss, Eq. 11-12 and docs/algorithm.md section 4:
//   L_pi = - sum_p policy_weight_p min(...),  L_V = sum_p value_weight_p (...);  value_weight = 1 / |M_V|
//   token 1/|M| | segment 1/(segments n_s) | rollout 1/(rollouts n_rollout) | split 1/n_kind;  0 for a token left out
//
// binding  name    shape        type  access
// 0        rows    [3 R + 1]    u32   read        kind (0 execution, 1 summary), rollout number, trainable_start [R +
//                                                 1]
// 1        counts  [64, 6]      u32   read/write  per lane: policy tokens, segments, rollouts, execution, summary,
//                                                 unused
// 2        planes  [7, P]       f32   write       planes 5 (policy weight) and 6 (value weight) of the step's planes
// 3        params  32 bytes     -     uniform     0 rows R u32, 4 tokens P u32, 8 norm u32, 12 train_summary u32,
//                                                 16 phase u32, 20 lanes per grid line u32
//
// Workgroup: 64 lanes. Phase 0: one workgroup, lane k counts rows k, k + 64, ... Phase 1: one lane a row adds the 64
// counts and writes the row's tokens. Two dispatches instead of a barrier: software adapters are slow at barriers.
// Limits: 3 storage buffers.
//
// Numerics: counts are integers, hence exact in any order; one float32 division a row. A denominator that is 0 divides
// nothing: no token has that weight. Oracle: test/oracle/loss.ts, relative 2^-22 (three float32 roundings).

struct Params {
  rows: u32,
  tokens: u32,
  norm: u32,
  train_summary: u32,
  phase: u32,
  grid_width: u32,
}

const LANES = 64u;
const COUNTS = 6u;
const TOKEN = 0u;
const SEGMENT = 1u;
const ROLLOUT = 2u;
const SPLIT = 3u;
const POLICY_WEIGHT_PLANE = 5u;
const VALUE_WEIGHT_PLANE = 6u;

@group(0) @binding(0) var<storage, read> rows: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> planes: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

fn is_summary(row: u32) -> bool {
  return rows[row] == 1u;
}

fn rollout_of(row: u32) -> u32 {
  return rows[params.rows + row];
}

fn token_start(row: u32) -> u32 {
  return rows[2u * params.rows + row];
}

fn policy_tokens(row: u32) -> u32 {
  if (params.train_summary == 0u && is_summary(row)) {
    return 0u;
  }
  return token_start(row + 1u) - token_start(row);
}

// Policy tokens of the rollout that owns the row; its rows are neighbours.
fn rollout_policy_tokens(row: u32) -> u32 {
  let rollout = rollout_of(row);
  var total = policy_tokens(row);
  var r = row;
  while (r > 0u && rollout_of(r - 1u) == rollout) {
    r = r - 1u;
    total = total + policy_tokens(r);
  }
  r = row + 1u;
  while (r < params.rows && rollout_of(r) == rollout) {
    total = total + policy_tokens(r);
    r = r + 1u;
  }
  return total;
}

fn count_rows(lane: u32) {
  var total = array<u32, 6>();
  for (var row = lane; row < params.rows; row = row + LANES) {
    let n = policy_tokens(row);
    total[0] += n;
    total[1] += select(0u, 1u, n > 0u);
    let opens_rollout = row == 0u || rollout_of(row - 1u) != rollout_of(row);
    if (opens_rollout && rollout_policy_tokens(row) > 0u) {
      total[2] += 1u;
    }
    total[3] += select(n, 0u, is_summary(row));
    total[4] += select(0u, n, is_summary(row));
  }
  for (var k = 0u; k < COUNTS; k = k + 1u) {
    counts[lane * COUNTS + k] = total[k];
  }
}

fn total_count(which: u32) -> u32 {
  var total = 0u;
  for (var lane = 0u; lane < LANES; lane = lane + 1u) {
    total += counts[lane * COUNTS + which];
  }
  return total;
}

fn write_row(row: u32) {
  let n = policy_tokens(row);
  var denominator = 0.0;
  if (params.norm == TOKEN) {
    denominator = f32(total_count(0u));
  } else if (params.norm == SEGMENT) {
    denominator = f32(total_count(1u)) * f32(n);
  } else if (params.norm == ROLLOUT) {
    denominator = f32(total_count(2u)) * f32(rollout_policy_tokens(row));
  } else {
    denominator = f32(total_count(select(3u, 4u, is_summary(row))));
  }
  var policy_weight = 0.0;
  if (n > 0u) {
    policy_weight = 1.0 / denominator;
  }
  let value_weight = 1.0 / f32(params.tokens);
  let end_token = token_start(row + 1u);
  for (var p = token_start(row); p < end_token; p = p + 1u) {
    planes[POLICY_WEIGHT_PLANE * params.tokens + p] = policy_weight;
    planes[VALUE_WEIGHT_PLANE * params.tokens + p] = value_weight;
  }
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let lane = id.x + id.y * params.grid_width;
  if (params.phase == 0u) {
    if (lane < LANES) {
      count_rows(lane);
    }
  } else if (lane < params.rows) {
    write_row(lane);
  }
}
