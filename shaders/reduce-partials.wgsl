// Adds the partial sums of all chunks to the gradient of a weight and its bias: gradient_i += sum over chunks of
// partial_i.
//
// binding  name      shape                      type  access
// 0        partials  [chunks, weights + biases] f32   read
// 1        gradient  [>= bias_at + biases]      f32   read/write  starts at the weight; its bias starts at bias_at
// 2        params    20 bytes                   -     uniform     u32 at 0 chunks, 4 weights, 8 biases, 12 bias_at, 16
//                                                                 lanes per grid line
//
// Workgroup: 64 lanes, one float a lane; nothing shared. Limits: 2 storage buffers.
// Numerics: float32; chunks in order, their sum added once to what the gradient held. NaN passes through. Oracle:
// test/oracle/transformer.ts, 1e-6 relative to the sum of absolute values.

struct Params {
  chunks: u32,
  weights: u32,
  biases: u32,
  bias_at: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> partials: array<f32>;
@group(0) @binding(1) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  let size = params.weights + params.biases;
  if (i >= size) {
    return;
  }
  var sum = 0.0;
  for (var chunk = 0u; chunk < params.chunks; chunk++) {
    sum += partials[chunk * size + i];
  }
  let at = select(params.bias_at + (i - params.weights), i, i < params.weights);
  gradient[at] += sum;
}
