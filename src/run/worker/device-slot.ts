/** The one graphics device of a worker. */
import { errorParts } from '../../core/errors';
import type { DeviceReport } from '../../core/protocol/protocol';
import { acquireDevice, type GpuContext } from '../../gpu/device';

/** Asked for once; a failed request may be tried again, a lost device is replaced. */
export class DeviceSlot {
  private context: Promise<GpuContext> | null = null;

  /** @param onLost told when a device is lost that nobody gave back */
  constructor(private readonly onLost: (message: string) => void) {}

  /** @throws LabError gpu.… */
  get(): Promise<GpuContext> {
    this.context ??= acquireDevice(navigator.gpu).then(
      (context) => {
        context.device.lost.then((info) => {
          this.context = null;
          if (info.reason !== 'destroyed') this.onLost(info.message);
        });
        return context;
      },
      (thrown) => {
        this.context = null;
        throw thrown;
      },
    );
    return this.context;
  }

  /** The device as a page shows it, or why there is none. */
  async report(): Promise<DeviceReport> {
    try {
      const { adapter } = await this.get();
      return { available: true, ...adapter, error: null };
    } catch (thrown) {
      const none = { available: false, description: '', vendor: '', architecture: '', software: false, features: [] };
      return { ...none, error: errorParts(thrown) };
    }
  }
}
