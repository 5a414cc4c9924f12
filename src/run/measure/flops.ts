/**
 * Floating-point operations that the model's formula asks for (src/model/parameters.ts); a multiply-add counts as two.
 * Counted are the matrix products and attention. Not counted: look-ups, layer norms, softmax, sampling, loss, Adam —
 * so a share of the roofline computed from these numbers is a lower bound of what the device does.
 */
import type { PackedRows } from '../../model/engine';
import type { ModelShape } from '../../model/parameters';

/** Products of one token in all blocks: qkv (d·3d), projection (d·d), MLP (2·d·f). */
function blockFlops({ layers, dModel: d, mlp }: ModelShape): number {
  return 2 * layers * (4 * d * d + 2 * d * mlp);
}

/** Attention of one token over `context` positions, itself included: q·k and weights·v, d each. */
function attentionFlops({ layers, dModel: d }: ModelShape, context: number): number {
  return 4 * layers * d * context;
}

/** Language head and value head of one token. */
function headFlops({ dModel: d, vocabulary }: ModelShape): number {
  return 2 * d * (vocabulary + 1);
}

/** One sampled token that sees `context` positions, itself included. */
export function decodeFlops(shape: ModelShape, context: number): number {
  return blockFlops(shape) + attentionFlops(shape, context) + headFlops(shape);
}

/**
 * Forward and backward of one optimiser step: blocks for every token, heads for the trainable tokens only. Backward is
 * twice forward, as each product has two gradients (four small products in attention for its two).
 */
export function updateFlops(shape: ModelShape, rows: PackedRows): number {
  const { rowStart, trainable } = rows;
  let forward = blockFlops(shape) * rows.ids.length + headFlops(shape) * trainable.length;
  for (let r = 0; r + 1 < rowStart.length; r++) {
    const length = rowStart[r + 1]! - rowStart[r]!;
    forward += attentionFlops(shape, (length * (length + 1)) / 2);
  }
  return 3 * forward;
}
