// decode-fused-workgroup-attention: attention of decode-fused-workgroup.wgsl, whose bindings, overrides and workgroup
// arrays it uses. Scores and softmax: so many lanes a head; sum of values: a lane has four columns and every parts-th
// position, the parts are added in order. Softmax is online over tiles of positions counted from 0.

// Writes key and value of this position, then h = causal attention of y's query over positions 0 … position.
fn attend(layer: u32, slot: u32, position: u32, lane: u32) {
  let d4 = params.d4;
  let tile = params.tile;
  let head_d4 = d4 / params.heads;
  let keys = (layer * params.slots + slot) * params.positions * 2u * d4;
  let values = keys + params.positions * d4;
  if (lane < d4) {
    cache[keys + lane * params.positions + position] = y[d4 + lane];
    cache[values + position * d4 + lane] = y[2u * d4 + lane];
  }
  storageBarrier();
  // Softmax: so many lanes a head. Sum of values: a lane has four columns, and every parts-th position.
  let head_lanes = LANES / params.heads;
  let head = lane / head_lanes;
  let index = lane % head_lanes;
  let in_head = head < params.heads;
  let parts = LANES / d4;
  let part = lane / d4;
  let column = lane % d4;
  var top = LOWEST;
  var total = 0.0;
  var sum = vec4f();
  for (var first = 0u; first <= position; first += tile) {
    let count = min(tile, position + 1u - first);
    for (var i = lane; i < params.heads * count; i += LANES) {
      let query = (i / count) * head_d4;
      var at = keys + query * params.positions + first + i % count;
      var score = 0.0;
      for (var c = 0u; c < head_d4; c++) {
        score += dot(y[query + c], cache[at]);
        at += params.positions;
      }
      scores[(i / count) * tile + i % count] = score * params.scale;
    }
    workgroupBarrier();
    var largest = LOWEST;
    if (in_head) {
      for (var t = index; t < count; t += head_lanes) {
        largest = max(largest, scores[head * tile + t]);
      }
    }
    maxima[lane] = largest;
    workgroupBarrier();
    if (in_head) {
      let before = top;
      for (var i = 0u; i < head_lanes; i++) {
        top = max(top, maxima[head * head_lanes + i]);
      }
      let factor = exp(before - top);
      total *= factor;
      var exps = 0.0;
      for (var t = index; t < count; t += head_lanes) {
        let e = exp(scores[head * tile + t] - top);
        scores[head * tile + t] = e;
        exps += e;
      }
      sums[lane] = exps;
      if (index == 0u) {
        head_factors[head] = factor;
      }
    }
    workgroupBarrier();
    if (in_head) {
      for (var i = 0u; i < head_lanes; i++) {
        total += sums[head * head_lanes + i];
      }
    }
    if (part < parts) {
      let source = column / head_d4;
      sum *= head_factors[source];
      for (var t = part; t < count; t += parts) {
        sum = fma(vec4f(scores[source * tile + t]), cache[values + (first + t) * d4 + column], sum);
      }
    }
    workgroupBarrier();
  }
  if (in_head && index == 0u) {
    head_factors[head] = total;
  }
  partials[lane] = sum;
  workgroupBarrier();
  if (lane < d4) {
    for (var p = 1u; p < parts; p++) {
      sum += partials[p * d4 + lane];
    }
    h[lane] = sum / head_factors[lane / head_d4];
  }
}
