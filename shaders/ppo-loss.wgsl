// Loss of one token and its gradient, Eq. 11-12 and docs/algorithm.md section 4. d = log pi - log pi_old, rho = e^d:
//   L = policy_coef L_pi + c_V L_V - c_H H + beta k3,   L_pi = - sum w min(rho A, clip(rho, 1 - eps, 1 + eps) A)
//   clone: L_pi = - sum w log pi, and no rho.   L_V = sum v max[(V - R)^2, (V_old + clip(V - V_old, eps_v) - R)^2] / 2
//   k3 = e^(-d') - 1 + d',  d' = log pi - log pi_ref.   H and k3 are summed with the weights w of L_pi.
//
// binding  name          shape      type  access
// 0        logp          [>= count] f32   read   log pi of the token, nats     (0-6 as bits, see numerics)
// 1        entropy       [>= count] f32   read   entropy of the full softmax, nats
// 2        values        [>= count] f32   read   V
// 3        planes        [7, P]     f32   read   log pi_old, advantage, target, V_old, log pi_ref, weight w, weight v
// 4        grad_logp     [>= count] f32   write  dL / dlogp
// 5        grad_entropy  [>= count] f32   write  dL / dH
// 6        grad_values   [>= count] f32   write  dL / dV
// 7        stats         [P, 8]     bits  write  policy loss, value loss, loss (weighted); H, kl, clipped, |rho - 1| (0
//                                                when w = 0); flags u32: 1 policy token, 2 not finite
// 8        params        64 bytes   -     uniform  u32 at 0 count, 4 first, 8 model_offset, 12 tokens P, 16 flags (1
//                                                  clone,
//                        2 policy terms, 4 value term, 8 k3 term), 20 lanes per grid line; f32 at 24 policy_coef,
//                        28 value_coef, 32 entropy_coef, 36 kl_coef, 40 clip, 44 value_clip
//
// Lane i handles token first + i of the step; it is entry model_offset + i of bindings 0-2 and 4-6.
// Workgroup: 64 lanes, one token a lane, nothing shared. Limits: 8 storage buffers.
//
// Numerics: float32. e^x - 1 and e^x - 1 - x by their series below |x| = 1/2, because kl is a difference of numbers
// near 1. Whether rho or the clipped ratio counts is decided by the sign of A, so that infinity times 0 does not arise.
// Not finite is found in the bits of inputs and gradients: float comparisons with NaN may be optimised away. Terms that
// are switched off do not read their inputs. Oracle: test/oracle/loss.ts, 1e-5 absolute.

struct Params {
  count: u32,
  first: u32,
  model_offset: u32,
  tokens: u32,
  flags: u32,
  grid_width: u32,
  policy_coef: f32,
  value_coef: f32,
  entropy_coef: f32,
  kl_coef: f32,
  clip: f32,
  value_clip: f32,
}

const CLONE = 1u;
const POLICY_TERMS = 2u;
const VALUE_TERM = 4u;
const K3_TERM = 8u;
const EXPONENT = 0x7f800000u;

@group(0) @binding(0) var<storage, read> logp: array<u32>;
@group(0) @binding(1) var<storage, read> entropy: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read> planes: array<u32>;
@group(0) @binding(4) var<storage, read_write> grad_logp: array<f32>;
@group(0) @binding(5) var<storage, read_write> grad_entropy: array<f32>;
@group(0) @binding(6) var<storage, read_write> grad_values: array<f32>;
@group(0) @binding(7) var<storage, read_write> stats: array<vec4u>;
@group(0) @binding(8) var<uniform> params: Params;

fn not_finite(bits: u32) -> bool {
  return (bits & EXPONENT) == EXPONENT;
}

fn has(flag: u32) -> bool {
  return (params.flags & flag) != 0u;
}

fn plane(which: u32, p: u32) -> u32 {
  return planes[which * params.tokens + p];
}

// e^x - 1
fn expm1(x: f32) -> f32 {
  if (abs(x) >= 0.5) {
    return exp(x) - 1.0;
  }
  var sum = 1.0;
  for (var k = 9.0; k >= 2.0; k = k - 1.0) {
    sum = 1.0 + sum * x / k;
  }
  return x * sum;
}

// e^x - 1 - x
fn expm1_minus(x: f32) -> f32 {
  if (abs(x) >= 0.5) {
    return exp(x) - 1.0 - x;
  }
  var sum = 1.0;
  for (var k = 10.0; k >= 3.0; k = k - 1.0) {
    sum = 1.0 + sum * x / k;
  }
  return 0.5 * x * x * sum;
}

struct Token {
  policy_loss: f32,
  value_loss: f32,
  loss: f32,
  entropy: f32,
  kl: f32,
  clipped: f32,
  ratio_error: f32,
  grad_logp: f32,
  grad_entropy: f32,
  grad_value: f32,
  flags: u32,
}

// min(rho A, clip(rho) A), its slope in log pi, and what is reported of the ratio.
fn surrogate(t: ptr<function, Token>, d: f32, advantage: f32) -> vec2f {
  let ratio_change = expm1(d);
  (*t).kl = expm1_minus(d);
  (*t).ratio_error = abs(ratio_change);
  (*t).clipped = select(0.0, 1.0, abs(ratio_change) > params.clip);
  if (advantage == 0.0) {
    return vec2f(0.0, 0.0);
  }
  if (advantage > 0.0 && ratio_change > params.clip) {
    return vec2f((1.0 + params.clip) * advantage, 0.0);
  }
  if (advantage < 0.0 && ratio_change < -params.clip) {
    return vec2f((1.0 - params.clip) * advantage, 0.0);
  }
  let objective = (1.0 + ratio_change) * advantage;
  return vec2f(objective, objective);
}

fn policy_terms(t: ptr<function, Token>, at: u32, p: u32) {
  let logp_bits = logp[at];
  let entropy_bits = entropy[at];
  var bad = not_finite(logp_bits) || not_finite(entropy_bits);
  let weight = bitcast<f32>(plane(5u, p));
  if (weight > 0.0) {
    let log_prob = bitcast<f32>(logp_bits);
    let h = bitcast<f32>(entropy_bits);
    var objective = vec2f(log_prob, 1.0); // value, slope in log pi
    if (!has(CLONE)) {
      let old_bits = plane(0u, p);
      let advantage_bits = plane(1u, p);
      bad = bad || not_finite(old_bits) || not_finite(advantage_bits);
      objective = surrogate(t, log_prob - bitcast<f32>(old_bits), bitcast<f32>(advantage_bits));
    }
    (*t).policy_loss = -weight * objective.x;
    (*t).loss = params.policy_coef * (*t).policy_loss - params.entropy_coef * weight * h;
    (*t).grad_logp = -params.policy_coef * weight * objective.y;
    (*t).grad_entropy = -params.entropy_coef * weight;
    (*t).entropy = h;
    (*t).flags = 1u;
    if (has(K3_TERM)) {
      let reference_bits = plane(4u, p);
      bad = bad || not_finite(reference_bits);
      let minus_d = bitcast<f32>(reference_bits) - log_prob;
      (*t).loss += params.kl_coef * weight * expm1_minus(minus_d);
      (*t).grad_logp -= params.kl_coef * weight * expm1(minus_d);
    }
  }
  (*t).flags |= select(0u, 2u, bad);
}

fn value_term(t: ptr<function, Token>, at: u32, p: u32) {
  let value_bits = values[at];
  let target_bits = plane(2u, p);
  let old_bits = plane(3u, p);
  var bad = not_finite(value_bits) || not_finite(target_bits);
  let weight = bitcast<f32>(plane(6u, p));
  let value = bitcast<f32>(value_bits);
  let wanted = bitcast<f32>(target_bits);
  let error = value - wanted;
  var square = error * error;
  var slope = error;
  if (params.value_clip > 0.0) {
    bad = bad || not_finite(old_bits);
    let old = bitcast<f32>(old_bits);
    let change = value - old;
    // Inside the band the clipped value is V itself; recomputing it as V_old + change would differ by a rounding.
    if (abs(change) > params.value_clip) {
      let clipped_error = old + clamp(change, -params.value_clip, params.value_clip) - wanted;
      if (clipped_error * clipped_error > square) {
        square = clipped_error * clipped_error;
        slope = 0.0;
      }
    }
  }
  (*t).value_loss = 0.5 * weight * square;
  (*t).loss += params.value_coef * (*t).value_loss;
  (*t).grad_value = params.value_coef * weight * slope;
  (*t).flags |= select(0u, 2u, bad);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.count) {
    return;
  }
  let p = params.first + i;
  let at = params.model_offset + i;
  var t = Token();
  if (has(POLICY_TERMS)) {
    policy_terms(&t, at, p);
  }
  if (has(VALUE_TERM)) {
    value_term(&t, at, p);
  }
  grad_logp[at] = t.grad_logp;
  grad_entropy[at] = t.grad_entropy;
  grad_values[at] = t.grad_value;
  let first_half = bitcast<vec4u>(vec4f(t.policy_loss, t.value_loss, t.loss, t.entropy));
  let grads = bitcast<vec3u>(vec3f(t.grad_logp, t.grad_entropy, t.grad_value));
  if (not_finite(first_half.z) || not_finite(grads.x) || not_finite(grads.y) || not_finite(grads.z)) {
    t.flags |= 2u;
  }
  stats[2u * p] = first_half;
  stats[2u * p + 1u] = vec4u(bitcast<vec3u>(vec3f(t.kl, t.clipped, t.ratio_error)), t.flags);
}
