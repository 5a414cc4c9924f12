// decode-fused-lane: products of decode-fused.wgsl in which every lane reads all weights: 16 of them (a mat4x4, used as
// four columns) at one address, as the address is checked each time. W is [width, out16], 16 floats an element.

@group(0) @binding(1) var<uniform> attention: array<mat4x4<f32>, ATTENTION_SIZE>;
@group(0) @binding(2) var<uniform> mlp: array<mat4x4<f32>, MLP_SIZE>;
@group(0) @binding(3) var<uniform> head: array<mat4x4<f32>, HEAD_SIZE>;

// Per lane: residual stream, input and output of the current product.
var<private> x: array<vec4<f32>, D4>;
var<private> h: array<f32, H>;
var<private> y: array<vec4<f32>, Y4>;

// Vector c of the 16 floats at i.
fn attention_at(i: u32, c: u32) -> vec4<f32> { return attention[i][c]; }
fn mlp_at(i: u32, c: u32) -> vec4<f32> { return mlp[i][c]; }
fn head_at(i: u32, c: u32) -> vec4<f32> { return head[i][c]; }

// Lanes share nothing: each decides for itself.
fn any_lane(condition: bool) -> bool { return condition; }

// y = bias + h[0..width) · W for the attention weights, from `weight` on.
fn attention_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a = attention[bias + j];
    var at = weight + j;
    for (var i = 0u; i < width; i++) {
      let v = vec4<f32>(h[i]);
      let w = attention[at];
      a = mat4x4<f32>(fma(v, w[0], a[0]), fma(v, w[1], a[1]), fma(v, w[2], a[2]), fma(v, w[3], a[3]));
      at += out16;
    }
    y[4u * j] = a[0];
    y[4u * j + 1u] = a[1];
    y[4u * j + 2u] = a[2];
    y[4u * j + 3u] = a[3];
  }
}

// The same for the MLP weights.
fn mlp_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a = mlp[bias + j];
    var at = weight + j;
    for (var i = 0u; i < width; i++) {
      let v = vec4<f32>(h[i]);
      let w = mlp[at];
      a = mat4x4<f32>(fma(v, w[0], a[0]), fma(v, w[1], a[1]), fma(v, w[2], a[2]), fma(v, w[3], a[3]));
      at += out16;
    }
    y[4u * j] = a[0];
    y[4u * j + 1u] = a[1];
    y[4u * j + 2u] = a[2];
    y[4u * j + 3u] = a[3];
  }
}

// The same for the output head.
fn head_product(weight: u32, bias: u32, width: u32, out16: u32) {
  for (var j = 0u; j < out16; j++) {
    var a = head[bias + j];
    var at = weight + j;
    for (var i = 0u; i < width; i++) {
      let v = vec4<f32>(h[i]);
      let w = head[at];
      a = mat4x4<f32>(fma(v, w[0], a[0]), fma(v, w[1], a[1]), fma(v, w[2], a[2]), fma(v, w[3], a[3]));
      at += out16;
    }
    y[4u * j] = a[0];
    y[4u * j + 1u] = a[1];
    y[4u * j + 2u] = a[2];
    y[4u * j + 3u] = a[3];
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) global_id: vec3<u32>) { decode(global_id.x); }
