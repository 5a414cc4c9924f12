/** Starts `lab` as a user does: the built program in a process of its own. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { headlessBuild } from '../../.ci/launch.mjs';

/** A process of `lab` that has ended. */
export interface Ended {
  readonly code: number | null;
  /** JSON objects of stdout. */
  readonly lines: Record<string, unknown>[];
  readonly stderr: string;
}

/** @returns the path of lab.js, built once per change of the sources */
export async function labProgram(): Promise<string> {
  return join(await headlessBuild(), 'lab.js');
}

/** @param stopAfter lines of output after which the process gets `signal` */
export function runLab(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  stopAfter = Number.POSITIVE_INFINITY,
  signal: NodeJS.Signals = 'SIGINT',
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...words], { env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk;
      if (stdout.split('\n').length > stopAfter) child.kill(signal);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const lines = stdout.split('\n').filter(Boolean);
      resolve({ code, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), stderr });
    });
  });
}

/** Iteration lines without the time fields. */
export function timeless({ lines }: Ended): string[] {
  return lines
    .filter((line) => 'iteration' in line)
    .map((line) => JSON.stringify(line, (key, value) => (key.endsWith('Ms') ? undefined : value)));
}
