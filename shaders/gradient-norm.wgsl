// Norm of the whole gradient, and whether it holds a NaN or an infinity.
//
// binding  name      shape     type   access
// 0        gradient  [size4]   vec4f  read        all tensors and their padding, which is zero
// 1        partials  [lanes]   vec2u  read/write  per lane: sum of squares (f32 bits), 1 if a number was not finite
// 2        record    [4]       bits   write       norm f32, norm squared f32, not finite u32 (0 or 1), unused
// 3        params    12 bytes  -      uniform     u32 at 0 size4, 4 lanes (a multiple of 64), 8 phase
//
// Workgroup: 64 lanes. Phase 0: lane k adds the vec4 k, k + lanes, ... Phase 1: one lane adds the partials in order.
// Two dispatches instead of a barrier: software adapters are slow at barriers. Limits: 3 storage buffers.
// Numerics: float32; not finite is found in the bits, because float comparisons with NaN may be optimised away. A
// square that overflows counts as not finite. Oracle: test/oracle/transformer.ts, 1e-5 relative.

struct Params {
  size4: u32,
  lanes: u32,
  phase: u32,
}

const EXPONENT = 0x7f800000u;

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partials: array<vec2u>;
@group(0) @binding(2) var<storage, read_write> record: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (params.phase == 0u) {
    if (id.x >= params.lanes) {
      return;
    }
    var squares = vec4f();
    var bad = false;
    for (var i = id.x; i < params.size4; i += params.lanes) {
      let g = gradient[i];
      bad = bad || any((bitcast<vec4u>(g) & vec4u(EXPONENT)) == vec4u(EXPONENT));
      squares += g * g;
    }
    let sum = (squares.x + squares.y) + (squares.z + squares.w);
    partials[id.x] = vec2u(bitcast<u32>(sum), select(0u, 1u, bad));
    return;
  }
  if (id.x != 0u) {
    return;
  }
  var sum = 0.0;
  var bad = 0u;
  for (var lane = 0u; lane < params.lanes; lane++) {
    sum += bitcast<f32>(partials[lane].x);
    bad |= partials[lane].y;
  }
  if ((bitcast<u32>(sum) & EXPONENT) == EXPONENT) {
    bad = 1u;
  }
  record[0] = bitcast<u32>(sqrt(sum));
  record[1] = bitcast<u32>(sum);
  record[2] = bad;
  record[3] = 0u;
}
