import { dawnGpu } from '../../gpu/dawn';
import { acquireDevice } from '../../gpu/device';
import type { Command } from '../command';

/** `lab device`: the adapter that every other command would use, as JSON. */
const device: Command = {
  name: 'device',
  summary: 'print the graphics adapter, its features and limits',
  usage: 'device',
  async run(args) {
    const context = await acquireDevice(await dawnGpu());
    args.print(context.adapter);
    context.dispose();
  },
};
export default device;
