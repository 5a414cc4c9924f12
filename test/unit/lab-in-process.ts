/** `lab` without a process of its own. */
import { runLab } from '../../src/headless/lab';

/** Runs a command line and gathers what it says. @param stdin its one line; left out: none */
export async function labInProcess(
  words: string[],
  stdin?: string,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const answer = { code: 0, stdout: '', stderr: '' };
  answer.code = await runLab(words, {
    signal: new AbortController().signal,
    out: (text) => {
      answer.stdout += text;
    },
    err: (text) => {
      answer.stderr += text;
    },
    async *lines() {
      if (stdin !== undefined) yield { number: 1, text: stdin };
    },
  });
  return answer;
}

/** What a command printed: one JSON value a line. */
export const jsonLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
