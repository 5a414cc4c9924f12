// Gradient of an embedding table: gradient[v] += sum of dx over the tokens that read row v (token, previous token or
// position).
//
// binding  name      shape          type   access
// 0        start     [entries + 1]  u32    read        entry v owns order[start[v] .. start[v + 1])
// 1        order     [tokens]       u32    read        tokens sorted by entry, ascending within one
// 2        dx        [tokens, d/4]  vec4f  read
// 3        gradient  [entries, d/4] vec4f  read/write
// 4        params    12 bytes       -      uniform     u32 at 0 entries, 4 d / 4, 8 lanes per grid line
//
// Workgroup: 64 lanes, four floats of one entry a lane. The host sorts the tokens, so that no atomics are needed and
// the order is fixed. Limits: 4 storage buffers.
// Numerics: float32, tokens in order, their sum added once. NaN passes through. Oracle: test/oracle/transformer.ts,
// 1e-5.

struct Params {
  entries: u32,
  d4: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> start: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> dx: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> gradient: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.entries * params.d4) {
    return;
  }
  let entry = i / params.d4;
  let c = i % params.d4;
  var sum = vec4f();
  let end = start[entry + 1u];
  for (var at = start[entry]; at < end; at++) {
    sum += dx[order[at] * params.d4 + c];
  }
  gradient[i] += sum;
}
