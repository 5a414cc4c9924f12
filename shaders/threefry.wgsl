// threefry2x32: one block of Threefry-2x32-20, the counter-based generator of src/core/rng.ts, bit for bit.
// Source: Salmon et al., SC11, "Parallel Random Numbers: As Easy as 1, 2, 3"; published vectors in the test.
//
// A function, not a kernel: the text is put in front of the kernels that draw (decode-fused, sample), because WGSL has
// no imports. Bindings, params, workgroup: none.
// Numerics: unsigned 32-bit arithmetic that wraps; unit_float keeps the top 24 bits, exact in float32.
// Oracle: src/core/rng.ts and the Random123 vectors; test/gpu/threefry.test.ts, exact.

fn rotate_left(x: u32, r: u32) -> u32 {
  return (x << r) | (x >> (32u - r));
}

// Two mixing rounds with rotations r.x and r.y.
fn threefry_mix(x: vec2<u32>, r: vec2<u32>) -> vec2<u32> {
  let a0 = x.x + x.y;
  let a1 = rotate_left(x.y, r.x) ^ a0;
  let b0 = a0 + a1;
  return vec2<u32>(b0, rotate_left(a1, r.y) ^ b0);
}

// Returns 64 random bits for (key, counter); counter = (stream, index).
fn threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
  let k2 = 0x1bd11bdau ^ key.x ^ key.y;
  var x = counter + key;
  x = threefry_mix(threefry_mix(x, vec2<u32>(13u, 15u)), vec2<u32>(26u, 6u)) + vec2<u32>(key.y, k2 + 1u);
  x = threefry_mix(threefry_mix(x, vec2<u32>(17u, 29u)), vec2<u32>(16u, 24u)) + vec2<u32>(k2, key.x + 2u);
  x = threefry_mix(threefry_mix(x, vec2<u32>(13u, 15u)), vec2<u32>(26u, 6u)) + vec2<u32>(key.x, key.y + 3u);
  x = threefry_mix(threefry_mix(x, vec2<u32>(17u, 29u)), vec2<u32>(16u, 24u)) + vec2<u32>(key.y, k2 + 4u);
  x = threefry_mix(threefry_mix(x, vec2<u32>(13u, 15u)), vec2<u32>(26u, 6u)) + vec2<u32>(k2, key.x + 5u);
  return x;
}

// Maps 32 random bits to [0, 1).
fn unit_float(bits: u32) -> f32 {
  return f32(bits >> 8u) * 0x1p-24f;
}
