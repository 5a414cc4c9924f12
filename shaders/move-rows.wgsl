// Gathers the hidden rows that predict trainable tokens, or scatters their gradients back:
//   gather: packed_p = hidden[index_p]   scatter: hidden[index_p] = packed_p
//
// binding  name    shape                type   access
// 0        index   [>= first + count]   u32    read     hidden row of each trainable token; no row occurs twice
// 1        from    [.., d / 4]          vec4f  read     hidden (gather) or packed (scatter)
// 2        to      [.., d / 4]          vec4f  write    packed (gather) or hidden (scatter)
// 3        params  20 bytes             -      uniform  u32 at 0 count, 4 first, 8 d / 4, 12 scatter (0 or 1), 16 lanes
//                                                       per grid line
//
// Packed row i belongs to index[first + i]. Workgroup: 64 lanes, four floats a lane. Limits: 3 storage buffers.
// Numerics: copies. Oracle: test/oracle/transformer.ts, exact.

struct Params {
  count: u32,
  first: u32,
  d4: u32,
  scatter: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read> source_rows: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> target_rows: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.count * params.d4) {
    return;
  }
  let hidden = index[params.first + i / params.d4] * params.d4 + i % params.d4;
  if (params.scatter != 0u) {
    target_rows[hidden] = source_rows[i];
  } else {
    target_rows[i] = source_rows[hidden];
  }
}
