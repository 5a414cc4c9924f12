/** What the conformance commands share: lines in, lines out, on the device or on the reference core. */
import { acquireDevice, type GpuContext } from '../gpu/device';
import type { Arguments, OptionSpec } from './command';
import { dawnGpu } from './dawn';

export const engineOption: Readonly<Record<string, OptionSpec>> = {
  engine: { type: 'string', help: 'gpu: the real kernels (default) | cpu: the float64 reference core' },
};

/** Answers one line; `context` is undefined on the reference core. */
export type Answer = (text: string, line: number, context: GpuContext | undefined) => Promise<unknown>;

/**
 * Answers line by line and in order; blank lines are skipped. The first bad line throws: what came before is answered.
 */
export async function answerLines(args: Arguments, answer: Answer): Promise<void> {
  const engine = args.choice('engine', ['gpu', 'cpu'], 'gpu');
  const context = engine === 'gpu' ? await acquireDevice(await dawnGpu()) : undefined;
  try {
    for await (const { number, text } of args.lines()) {
      if (args.signal.aborted) return;
      if (text.trim() !== '') args.print(await answer(text, number, context));
    }
  } finally {
    context?.dispose();
  }
}
