// decode-cache: stores keys and values of freshly fed tokens: cache[slot, position] = (k, v) of the row.
// Source: src/model/parameters.ts (attn.qkv packs query, key, value along the output axis).
//
// binding  name     shape                           type   access
// 0        records  [rows]                          vec4u  read   (token, previous, position, slot; NONE: skip the row)
// 1        qkv      [rows, 3 d / 4]                 vec4f  read   query, key, value
// 2        cache    [slots, positions, 2 d / 4]     vec4f  write  key, value of one layer
// 3        params   16 bytes                        -      uniform  u32 at 0 rows, 4 d / 4, 8 positions, 12 lanes per
//                                                                   grid line
//
// Workgroup: 64 lanes, four floats a lane, nothing shared. Limits: 3 storage buffers.
// Numerics: a copy. Oracle: test/oracle/decode.ts (has no cache), test/gpu/decode.test.ts.

const NONE = 0xffffffffu;

struct Params {
  rows: u32,
  d4: u32,
  positions: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> cache: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  let width = 2u * params.d4;
  let row = i / width;
  if (row >= params.rows) {
    return;
  }
  let record = records[row];
  if (record.w == NONE) {
    return;
  }
  let c = i % width;
  cache[(record.w * params.positions + record.z) * width + c] = qkv[row * 3u * params.d4 + params.d4 + c];
}
