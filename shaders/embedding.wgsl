// Input of the first block: x_t = wte[token] + wpe[position] (+ wte_prev[previous token]), src/model/parameters.ts.
//
// binding  name      shape                  type   access
// 0        records   [rows]                 vec4u  read     (token, previous token, position, not used here)
// 1        wte       [vocabulary, d / 4]    vec4f  read
// 2        wte_prev  [vocabulary, d / 4]    vec4f  read     any array when the flag is off
// 3        wpe       [positions, d / 4]     vec4f  read
// 4        x         [rows, d / 4]          vec4f  write
// 5        params    16 bytes               -      uniform  u32 at 0 rows, 4 d / 4, 8 flag previous token, 12 lanes per
//                                                           grid line
//
// Workgroup: 64 lanes, four floats a lane; nothing shared. Limits: 5 storage buffers.
// Numerics: float32, (wte + wpe) + wte_prev. NaN passes through. Oracle: test/oracle/transformer.ts, 1e-6.

struct Params {
  rows: u32,
  d4: u32,
  has_previous: u32,
  grid_width: u32,
}

@group(0) @binding(0) var<storage, read> records: array<vec4u>;
@group(0) @binding(1) var<storage, read> wte: array<vec4f>;
@group(0) @binding(2) var<storage, read> wte_prev: array<vec4f>;
@group(0) @binding(3) var<storage, read> wpe: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * params.grid_width;
  if (i >= params.rows * params.d4) {
    return;
  }
  let row = i / params.d4;
  let c = i % params.d4;
  let record = records[row];
  var sum = wte[record.x * params.d4 + c] + wpe[record.z * params.d4 + c];
  if (params.has_previous != 0u) {
    sum += wte_prev[record.y * params.d4 + c];
  }
  x[i] = sum;
}
