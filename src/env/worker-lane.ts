/** One terminal worker and everything needed to rebuild it. */
import { Turns } from '../core/turns';
import type { Lane } from './lane';
import type { TaskInstance } from './task';
import type { TerminalResult } from './terminal';
import type { OpenRequest, RunRequest } from './terminal-service';
import { poolClosed, workerDied } from './worker-died';
import type { RemoteTerminalService, SpawnWorker, WorkerHandle } from './worker-handle';

/** Loading the shell on a slow machine; milliseconds. */
const START_TIMEOUT_MS = 60_000;
/** Added to the time limit for every entry of a batch; ordinary commands take about a millisecond. */
const PER_ENTRY_MS = 100;

const killedResult: TerminalResult = { output: 'Killed\n', exitCode: 137, exited: false, limit: 'time', killed: true };

interface Environment {
  readonly task: TaskInstance;
  /** Commands that ran, for replay. */
  readonly log: string[];
  /** Its command hung: it answers nothing but `Killed` from then on. */
  dead: boolean;
}

/** Calls are served one at a time, so that a time limit covers one batch. */
export class WorkerLane implements Lane {
  kills = 0;
  private readonly environments = new Map<number, Environment>();
  private handle: WorkerHandle | undefined;
  private readonly turns = new Turns();
  private closed = false;

  constructor(
    private readonly spawn: SpawnWorker,
    private readonly commandTimeoutMs: number,
  ) {}

  open(batch: readonly OpenRequest[]): Promise<void> {
    return this.turns.take(async () => {
      for (const { env, task } of batch) this.environments.set(env, { task, log: [], dead: false });
      const open = (entries: readonly OpenRequest[]) => this.call(entries.length, (s) => s.open(entries));
      // A worker that fails here fails for a reason of its own (it cannot be loaded): once more, then the caller is told.
      await open(batch).catch(() => this.restart());
    });
  }

  run(batch: readonly RunRequest[]): Promise<TerminalResult[]> {
    return this.attempt(
      batch,
      (part) => this.call(part.length, (s) => s.run(part)),
      killedResult,
      ({ env, command }) => this.environments.get(env)?.log.push(command),
    );
  }

  verify(envs: readonly number[]): Promise<number[]> {
    const entries = envs.map((env) => ({ env }));
    return this.attempt(entries, (part) => this.call(part.length, (s) => s.verify(part.map(({ env }) => env))), 0);
  }

  release(envs: readonly number[]): Promise<void> {
    return this.turns.take(async () => {
      for (const env of envs) this.environments.delete(env);
      await this.call(envs.length, (s) => s.release(envs)).catch(() => this.restart());
    });
  }

  close(): void {
    this.closed = true;
    this.handle?.terminate();
    this.handle = undefined;
    this.environments.clear();
  }

  /** Sends a batch; if the worker hangs or dies, rebuilds it and sends the entries one by one to find the one at fault. */
  private attempt<Q extends { readonly env: number }, R>(
    batch: readonly Q[],
    send: (part: readonly Q[]) => Promise<R[]>,
    whenDead: R,
    done: (entry: Q) => void = () => {},
  ): Promise<R[]> {
    return this.turns.take(async () => {
      const isDead = ({ env }: Q) => this.environments.get(env)?.dead === true;
      const alive = batch.filter((entry) => !isDead(entry));
      const answers = new Map<Q, R>();
      try {
        const results = alive.length > 0 ? await send(alive) : [];
        alive.forEach((entry, i) => {
          answers.set(entry, results[i]!);
          done(entry);
        });
      } catch (thrown) {
        if (!isDeath(thrown)) throw thrown;
        await this.restart();
        for (const entry of alive) {
          // The batch may hold more commands for an environment that one of them has just ended.
          if (isDead(entry)) continue;
          try {
            const [result] = await send([entry]);
            answers.set(entry, result!);
            done(entry);
          } catch (again) {
            if (!isDeath(again)) throw again;
            this.kills++;
            const environment = this.environments.get(entry.env);
            if (environment) environment.dead = true;
            await this.restart();
          }
        }
      }
      return batch.map((entry) => answers.get(entry) ?? whenDead);
    });
  }

  /** A fresh worker with every living environment as it was. @throws `terminal.worker-died` if that fails too */
  private async restart(): Promise<void> {
    this.handle?.terminate();
    this.handle = undefined;
    const living = [...this.environments].filter(([, environment]) => !environment.dead);
    const tasks = living.map(([env, { task }]) => ({ env, task }));
    const commands = living.flatMap(([env, { log }]) => log.map((command) => ({ env, command })));
    if (tasks.length > 0) await this.call(tasks.length, (s) => s.open(tasks));
    if (commands.length > 0) await this.call(commands.length, (s) => s.run(commands));
  }

  /** One call, ended by its answer, the worker's death or the clock. */
  private async call<R>(entries: number, send: (service: RemoteTerminalService) => Promise<R>): Promise<R> {
    if (this.closed) throw poolClosed();
    if (!this.handle) {
      this.handle = this.spawn();
      await this.withDeadline(this.handle, START_TIMEOUT_MS, this.handle.service.ready());
    }
    return this.withDeadline(this.handle, this.commandTimeoutMs + entries * PER_ENTRY_MS, send(this.handle.service));
  }

  private async withDeadline<R>(handle: WorkerHandle, limitMs: number, answer: Promise<R>): Promise<R> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(workerDied(`no answer within ${limitMs} ms`)), limitMs);
    });
    try {
      return await handle.life.guard(Promise.race([answer, late]));
    } catch (thrown) {
      throw this.closed ? poolClosed() : thrown;
    } finally {
      clearTimeout(timer);
    }
  }
}

function isDeath(thrown: unknown): boolean {
  return (thrown as { code?: unknown } | null)?.code === 'terminal.worker-died';
}
