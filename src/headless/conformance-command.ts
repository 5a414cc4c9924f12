/** What the conformance commands share: lines in, lines out, on the device or on the reference core. */

import { dawnGpu } from '../gpu/dawn';
import { acquireDevice, type GpuContext } from '../gpu/device';
import type { Arguments, OptionSpec } from './command';

export const engineOption: Readonly<Record<string, OptionSpec>> = {
  engine: { type: 'string', help: 'gpu: the real kernels (default) | cpu: the float64 reference core' },
};

/** The device, opened at the first call, once the line was found good; undefined on the reference core. */
export type OpenDevice = () => Promise<GpuContext | undefined>;

/** Answers one line. */
export type Answer = (text: string, line: number, device: OpenDevice) => Promise<unknown>;

/**
 * Answers line by line and in order; blank lines are skipped. The first bad line throws: what came before is answered.
 */
export async function answerLines(args: Arguments, answer: Answer): Promise<void> {
  const engine = args.choice('engine', ['gpu', 'cpu'], 'gpu');
  let context: GpuContext | undefined;
  const device: OpenDevice = async () => {
    if (engine === 'gpu') context ??= await acquireDevice(await dawnGpu());
    return context;
  };
  try {
    for await (const { number, text } of args.lines()) {
      if (args.signal.aborted) return;
      if (text.trim() !== '') args.print(await answer(text, number, device));
    }
  } finally {
    context?.dispose();
  }
}
