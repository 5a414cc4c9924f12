/** Base checkpoints as the site ships them, from inside the trainer worker. */

const baseUrl = (name: string) => new URL(`${import.meta.env.BASE_URL}bases/${name}.safetensors`, siteRoot());

/** The built worker lies in assets/, one below the page; in development import.meta.url is under /src/run/. */
function siteRoot(): string {
  return import.meta.env.DEV ? self.location.origin : new URL('..', self.location.href).href;
}

/** @returns null when the site has no such file */
export async function fetchBase(name: string): Promise<Uint8Array | null> {
  const response = await fetch(baseUrl(name));
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
}
