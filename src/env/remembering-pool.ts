/**
 * A pool that runs no command twice. What a shell answers is a function of its task, its version and of the commands before (terminal.ts),
 * so the arms of an experiment, which meet the same tasks with the same seeds, share what any of them has seen. A shell is
 * opened only where an episode leaves the known paths; the commands up to there are then run in it.
 */
import type { TerminalPool, TerminalResult } from './pool';
import type { OpenRequest, RunRequest } from './terminal-service';

/** The state after some commands: how the last one was answered, what the verifier says, and the states after the next. */
interface State {
  readonly answer: TerminalResult | null;
  share: number | null;
  readonly next: Map<string, State>;
}

interface Environment {
  readonly opened: Omit<OpenRequest, 'env'>;
  state: State;
  /** Commands so far. */
  readonly log: string[];
  /** Whether the pool beneath has it in this state. */
  live: boolean;
  /** The wall clock ended a command: what comes after is no function of the commands. */
  killed: boolean;
}

/** States kept before all are forgotten, about 0.5 kB each. */
const MAX_STATES = 300_000;

/**
 * @param pool does what is not remembered; closed with this one
 * @param most states kept, see MAX_STATES
 */
export function rememberingPool(pool: TerminalPool, most = MAX_STATES): TerminalPool {
  let roots = new Map<string, State>();
  let states = 0;
  const environments = new Map<number, Environment>();

  const fresh = (answer: TerminalResult | null): State => {
    states++;
    return { answer, share: null, next: new Map() };
  };
  const rootOf = (opened: Environment['opened']): State => {
    if (states > most) {
      roots = new Map();
      states = 0;
    }
    const key = JSON.stringify(opened);
    const root = roots.get(key) ?? fresh(null);
    roots.set(key, root);
    return root;
  };
  /** Remembers an answer and moves on to the state behind it. */
  const advance = (environment: Environment, command: string, answer: TerminalResult) => {
    environment.log.push(command);
    if (answer.killed) environment.killed = true;
    const known = environment.state.next.get(command);
    const state = known ?? fresh(answer);
    if (!known && !environment.killed) environment.state.next.set(command, state);
    environment.state = state;
  };
  /** Opens shells for those that have none. @returns the commands that bring each to its state, in order */
  const revive = async (envs: readonly number[]): Promise<RunRequest[]> => {
    const dormant = envs.filter((env) => !environments.get(env)!.live);
    if (dormant.length === 0) return [];
    await pool.open(dormant.map((env) => ({ env, ...environments.get(env)!.opened })));
    return dormant.flatMap((env) => {
      const environment = environments.get(env)!;
      environment.live = true;
      return environment.log.map((command) => ({ env, command }));
    });
  };

  return {
    get workers() {
      return pool.workers;
    },
    get kills() {
      return pool.kills;
    },
    async open(batch: readonly OpenRequest[]) {
      for (const { env, ...opened } of batch)
        environments.set(env, { opened, state: rootOf(opened), log: [], live: false, killed: false });
    },
    async run(batch) {
      const answers = batch.map(({ env, command }) => {
        const environment = environments.get(env);
        return environment?.live === false ? environment.state.next.get(command)?.answer : undefined;
      });
      const missing = batch.filter((_, i) => !answers[i]);
      const before = await revive(missing.map(({ env }) => env).filter((env) => environments.has(env)));
      const ran = missing.length > 0 ? (await pool.run([...before, ...missing])).slice(before.length) : [];
      let at = 0;
      return batch.map(({ env, command }, i) => {
        const answer = answers[i] ?? ran[at++]!;
        advance(environments.get(env)!, command, answer);
        return answer;
      });
    },
    async verify(envs) {
      const missing = envs.filter((env) => environments.get(env)?.state.share == null);
      const killsBefore = pool.kills;
      const before = await revive(missing.filter((env) => environments.has(env)));
      if (before.length > 0) await pool.run(before);
      const shares = missing.length > 0 ? await pool.verify(missing) : [];
      missing.forEach((env, i) => {
        const environment = environments.get(env)!;
        // A verifier that the clock ended says 0 of a task that may be solved; which one it was is not told.
        if (!environment.killed && pool.kills === killsBefore) environment.state.share = shares[i]!;
      });
      const found = new Map(missing.map((env, i) => [env, shares[i]!]));
      return envs.map((env) => found.get(env) ?? environments.get(env)!.state.share!);
    },
    async release(envs) {
      const live = envs.filter((env) => environments.get(env)?.live);
      for (const env of envs) environments.delete(env);
      if (live.length > 0) await pool.release(live);
    },
    close: () => pool.close(),
  };
}
