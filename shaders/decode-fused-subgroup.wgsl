// decode-fused-subgroup: products of decode-fused.wgsl in which the lanes of a subgroup hand weights round: each loads
// one of SHARE vectors and takes the others from its neighbours, a shuffle being one instruction where a load is dozens
// on software adapters. W is [width, out16], 16 floats an element, which is 4 vectors. Written before this text:
// directives, SHARE.

@group(0) @binding(1) var<uniform> attention: array<vec4<f32>, 4u * ATTENTION_SIZE>;
@group(0) @binding(2) var<uniform> mlp: array<vec4<f32>, 4u * MLP_SIZE>;
@group(0) @binding(3) var<uniform> head: array<vec4<f32>, 4u * HEAD_SIZE>;

// Lane number within SHARE.
var<private> share: u32;
// Per lane: residual stream, input and output of the current product.
var<private> x: array<vec4<f32>, D4>;
var<private> h: array<f32, H>;
var<private> y: array<vec4<f32>, Y4>;

// Vector c of the 16 floats at i.
fn attention_at(i: u32, c: u32) -> vec4<f32> { return attention[4u * i + c]; }
fn mlp_at(i: u32, c: u32) -> vec4<f32> { return mlp[4u * i + c]; }
fn head_at(i: u32, c: u32) -> vec4<f32> { return head[4u * i + c]; }

// Control flow around products is the same in a subgroup: its lanes load for each other.
fn any_lane(condition: bool) -> bool { return subgroupAny(condition); }

// y = bias + h[0..width) · W for the attention weights, from `weight` on. Two inputs at a time: with SHARE 4 each takes
// a load, with SHARE 8 one load holds both.
fn attention_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a0 = attention_at(bias + j, 0u);
    var a1 = attention_at(bias + j, 1u);
    var a2 = attention_at(bias + j, 2u);
    var a3 = attention_at(bias + j, 3u);
    for (var i = 0u; i < width; i += 2u) {
      let at = weight + i * out16 + j;
      let q = attention_at(at + (share / 4u) * out16, share % 4u);
      let v = vec4<f32>(h[i]);
      a0 = fma(v, subgroupBroadcast(q, 0u), a0);
      a1 = fma(v, subgroupBroadcast(q, 1u), a1);
      a2 = fma(v, subgroupBroadcast(q, 2u), a2);
      a3 = fma(v, subgroupBroadcast(q, 3u), a3);
      var r = q;
      if (SHARE == 4u) { r = attention_at(at + out16, share); }
      let u = vec4<f32>(h[i + 1u]);
      a0 = fma(u, subgroupBroadcast(r, SHARE - 4u), a0);
      a1 = fma(u, subgroupBroadcast(r, SHARE - 3u), a1);
      a2 = fma(u, subgroupBroadcast(r, SHARE - 2u), a2);
      a3 = fma(u, subgroupBroadcast(r, SHARE - 1u), a3);
    }
    y[4u * j] = a0;
    y[4u * j + 1u] = a1;
    y[4u * j + 2u] = a2;
    y[4u * j + 3u] = a3;
  }
}

// The same for the MLP weights. Two inputs at a time: with SHARE 4 each takes a load, with SHARE 8 one load holds both.
fn mlp_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a0 = mlp_at(bias + j, 0u);
    var a1 = mlp_at(bias + j, 1u);
    var a2 = mlp_at(bias + j, 2u);
    var a3 = mlp_at(bias + j, 3u);
    for (var i = 0u; i < width; i += 2u) {
      let at = weight + i * out16 + j;
      let q = mlp_at(at + (share / 4u) * out16, share % 4u);
      let v = vec4<f32>(h[i]);
      a0 = fma(v, subgroupBroadcast(q, 0u), a0);
      a1 = fma(v, subgroupBroadcast(q, 1u), a1);
      a2 = fma(v, subgroupBroadcast(q, 2u), a2);
      a3 = fma(v, subgroupBroadcast(q, 3u), a3);
      var r = q;
      if (SHARE == 4u) { r = mlp_at(at + out16, share); }
      let u = vec4<f32>(h[i + 1u]);
      a0 = fma(u, subgroupBroadcast(r, SHARE - 4u), a0);
      a1 = fma(u, subgroupBroadcast(r, SHARE - 3u), a1);
      a2 = fma(u, subgroupBroadcast(r, SHARE - 2u), a2);
      a3 = fma(u, subgroupBroadcast(r, SHARE - 1u), a3);
    }
    y[4u * j] = a0;
    y[4u * j + 1u] = a1;
    y[4u * j + 2u] = a2;
    y[4u * j + 3u] = a3;
  }
}

// The same for the output head. Two inputs at a time: with SHARE 4 each takes a load, with SHARE 8 one load holds both.
fn head_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a0 = head_at(bias + j, 0u);
    var a1 = head_at(bias + j, 1u);
    var a2 = head_at(bias + j, 2u);
    var a3 = head_at(bias + j, 3u);
    for (var i = 0u; i < width; i += 2u) {
      let at = weight + i * out16 + j;
      let q = head_at(at + (share / 4u) * out16, share % 4u);
      let v = vec4<f32>(h[i]);
      a0 = fma(v, subgroupBroadcast(q, 0u), a0);
      a1 = fma(v, subgroupBroadcast(q, 1u), a1);
      a2 = fma(v, subgroupBroadcast(q, 2u), a2);
      a3 = fma(v, subgroupBroadcast(q, 3u), a3);
      var r = q;
      if (SHARE == 4u) { r = head_at(at + out16, share); }
      let u = vec4<f32>(h[i + 1u]);
      a0 = fma(u, subgroupBroadcast(r, SHARE - 4u), a0);
      a1 = fma(u, subgroupBroadcast(r, SHARE - 3u), a1);
      a2 = fma(u, subgroupBroadcast(r, SHARE - 2u), a2);
      a3 = fma(u, subgroupBroadcast(r, SHARE - 1u), a3);
    }
    y[4u * j] = a0;
    y[4u * j + 1u] = a1;
    y[4u * j + 2u] = a2;
    y[4u * j + 3u] = a3;
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) global_id: vec3<u32>, @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  share = subgroup_lane % SHARE;
  decode(global_id.x);
}
