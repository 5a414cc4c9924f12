/** How an adapter is called, on the page and in records: browsers leave out what could identify a machine. */

/** What `GPUAdapterInfo` says; browsers leave any of it empty. */
export interface AdapterNames {
  readonly vendor: string;
  readonly architecture: string;
  readonly description: string;
  /** Whether the processor plays graphics card. */
  readonly software: boolean;
}

/**
 * All that is known, in the words of the browser: vendor and architecture unless the description has them, then the
 * description. Where the browser says nothing, that it does.
 */
export function adapterName({ vendor, architecture, description, software }: AdapterNames): string {
  const whole = description.trim();
  const said = whole.toLowerCase();
  const parts = [vendor, architecture].map((part) => part.trim()).filter((part) => !said.includes(part.toLowerCase()));
  const name = [...new Set(parts), whole].filter(Boolean).join(' ');
  return name || `${software ? 'software adapter' : 'adapter'}, name withheld by the browser`;
}
