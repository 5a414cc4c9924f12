/** What this build is: version and commit, put in by the build tool. */
declare const __BUILD__: string | undefined;
declare const __KERNELS__: string | undefined;

/** E.g. `0.1.0+1a2b3c4`; `dev` where nothing was put in (unit tests). */
export const build: string = typeof __BUILD__ === 'string' ? __BUILD__ : 'dev';

/** Changes with the sources of the kernels: what was measured on others does not count. `dev` as above. */
export const kernelVersion: string = typeof __KERNELS__ === 'string' ? __KERNELS__ : 'dev';
