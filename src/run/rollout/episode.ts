/**
 * One rollout as a state machine over token ids (docs/algorithm.md sections 1 and 2). It knows no engine and no terminal: it
 * says what to decode next, and takes what was sampled and what the terminal printed.
 */
import { compactThreshold } from '../../core/config/config';
import { cutObservation, decode, decodeCommand, encode, special } from '../../core/tokenizer/tokenizer';
import type {
  CompactionRecord,
  Rollout,
  Segment,
  SegmentKind,
  Step,
  StopReason,
} from '../../core/trajectory/trajectory';
import type { TaskInstance } from '../../env/task';
import type { DecodeJob, DecodeResult } from '../../model/engine';
import type { EpisodeSetup, LastContext } from './episode-setup';
import { Row } from './row';

/** What ends up in the terminal after a command. */
export interface Observed {
  readonly output: string;
  readonly exitCode: number;
  /** The command asked the shell to exit. */
  readonly exited: boolean;
  /** Which limit the command hit, if any. */
  readonly limit?: string | undefined;
  readonly killed?: boolean | undefined;
}

export type EpisodeNeed = 'action' | 'summary' | 'terminal' | 'verify' | 'nothing';

/** A step inside the current context, kept for the verbatim tail. */
interface LiveStep {
  readonly ids: readonly number[];
  readonly command: string;
  readonly output: string;
}

export class Episode {
  readonly task: TaskInstance;
  readonly segments: Segment[] = [];
  readonly steps: Step[] = [];
  readonly compactions: CompactionRecord[] = [];
  need: EpisodeNeed = 'action';
  stop: StopReason | null = null;
  reward = 0;
  solved = false;
  killed = false;
  fedTokens = 0;
  /** Tokens drawn so far: the random index of the next draw. */
  sampled = 0;
  /** The command that waits for the terminal. */
  command = '';
  /** Watch this episode's tokens as they come (live view). */
  onTokens: ((kind: 'context' | 'action' | 'observation' | 'summary', ids: readonly number[]) => void) | null = null;

  private row = new Row();
  /** Cache positions that hold this context's tokens. */
  private cached = 0;
  private live: LiveStep[] = [];
  private stepStart = 0;
  /** Where sampling began: the first index after the prompt or the summary request. */
  private sampleStart = 0;
  /** The summary that is asked for is the note of docs/algorithm.md section 8. */
  private writesNote: boolean;
  private readonly threshold: number;
  readonly turnLimit: number;

  constructor(readonly setup: EpisodeSetup) {
    this.task = setup.task;
    this.threshold = compactThreshold(setup.config);
    this.turnLimit = setup.task.minTurns + setup.config.turnSlack;
    const { noteAfter } = setup;
    this.writesNote = noteAfter !== undefined;
    if (noteAfter) {
      this.begin(noteAfter.ids);
      this.cached = noteAfter.cached;
      this.need = 'summary';
    } else this.start();
  }

  /** Tokens in the context now, |h|. */
  get contextTokens(): number {
    return this.row.ids.length;
  }

  /** Tokens the context begins with, before anything was sampled. */
  initialContext(): number[] {
    return this.row.ids.slice(0, this.row.contextLength);
  }

  /**
   * The context as it stands at the end, without its oldest steps as far as the window would not hold `room` more tokens.
   * @returns undefined where not even the beginning of the context leaves that room
   */
  lastContext(room: number): LastContext | undefined {
    // An action that nothing was printed for, or a summary that was too long, comes after the last whole step.
    const pieces = [...this.live.map((step) => step.ids), this.row.ids.slice(this.stepStart)];
    const most = this.setup.config.window - room;
    const surplus = this.row.ids.length - most;
    let dropped = 0;
    while (dropped < surplus && pieces.length > 0) dropped += pieces.shift()!.length;
    if (dropped < surplus) return undefined;
    if (dropped === 0) return { ids: this.row.ids, cached: this.cached };
    const rest = pieces.flat();
    return { ids: [...this.row.ids.slice(0, this.row.ids.length - dropped - rest.length), ...rest], cached: 0 };
  }

  /** The decoding request of an `action` or `summary` need. */
  job(slot: number, fresh = false): DecodeJob {
    const { config } = this.setup;
    const summary = this.need === 'summary';
    const prompt = summary ? special.sum : special.act;
    this.row.append(prompt, 0);
    this.onTokens?.('context', [prompt]);
    this.sampleStart = this.row.ids.length;
    const start = fresh ? 0 : this.cached;
    const feed = Uint32Array.from(this.row.ids.slice(start));
    return {
      slot,
      start,
      feed,
      previous: start > 0 ? this.row.ids[start - 1]! : 0,
      stop: summary ? special.eos : special.eoc,
      // The stop token counts within the cap: at the cap it is appended instead of sampled.
      cap: (summary ? config.summaryCap : config.actionCap) - 1,
      stream: this.setup.id,
      index: this.sampled,
    };
  }

  /** Whether `compact` as the first token of the next action would be a compaction (docs/algorithm.md section 9). */
  get mayCompact(): boolean {
    const { trigger, compaction, maxCompactions } = this.setup.config;
    return (
      trigger === 'learned' &&
      compaction === 'summary' &&
      this.need === 'action' &&
      this.compactions.length < maxCompactions &&
      // After a step the threshold has been checked, so that the summary fits; without one, compactions could follow each other.
      this.stepStart > this.row.contextLength
    );
  }

  /** Takes what was sampled for the last `job`. */
  accept(job: DecodeJob, result: DecodeResult): void {
    const summary = this.need === 'summary';
    const compacts = this.mayCompact && result.ids[0] === special.compact;
    // Decoding knows one stop token; what it drew after this other one never happened.
    const taken = compacts ? 1 : result.ids.length;
    // What a separate writer reads again is no env token: arms with and without one train at the same cost for the same steps.
    const cached = job.start + job.feed.length + taken - 1;
    this.fedTokens += cached - this.cached;
    this.cached = cached;
    // All that was drawn: a random number is used once.
    this.sampled += result.ids.length;
    const from = this.sampleStart;
    for (let i = 0; i < taken; i++) this.row.append(result.ids[i]!, 1, result.logp[i]!, result.values[i]!);
    if (!compacts && result.ids[taken - 1] !== job.stop) this.row.append(job.stop, 0);
    this.onTokens?.(summary ? 'summary' : 'action', this.row.ids.slice(from));
    const content = this.row.ids.slice(from, -1);
    if (compacts) {
      this.closeSegment('execution');
      this.need = 'summary';
    } else if (this.writesNote) this.startWith(content);
    else if (summary) {
      this.closeSegment('summary');
      this.resume(content);
    } else {
      this.command = decodeCommand(content);
      this.need = 'terminal';
    }
  }

  /** Takes the terminal's answer to `command`. Order: limits → exit → turn limit → trigger. */
  observe(observed: Observed): void {
    const { config } = this.setup;
    this.steps.push({
      command: this.command,
      output: observed.output,
      exitCode: observed.exitCode,
      segment: this.segments.length,
    });
    // One place of the observation cap is the next prompt.
    const observation = [...cutObservation(encode(observed.output), config.observationCap - 1)];
    const seen = decode(observation);
    // A fact behind the cut was never visible.
    this.setup.tracker.observe(this.command, seen);
    if (observed.killed) this.killed = true;
    if (observed.limit) {
      this.finish('command-limit', 0);
      return;
    }
    if (observed.exited) {
      this.need = 'verify';
      return;
    }
    for (const id of observation) this.row.append(id, 0);
    this.onTokens?.('observation', observation);
    this.live.push({ ids: this.row.ids.slice(this.stepStart), command: this.command, output: seen });
    this.stepStart = this.row.ids.length;
    if (this.steps.length >= this.turnLimit) {
      this.finish('turn-limit', 0);
      return;
    }
    const wants = config.window - this.row.ids.length < this.threshold;
    if (config.compaction !== 'none' && wants && this.compactions.length < config.maxCompactions) {
      this.closeSegment('execution');
      if (config.compaction === 'summary') this.need = 'summary';
      else this.resume(this.unwritten(config.compaction));
      return;
    }
    this.beforeAction();
  }

  /** Takes the verifier's share of passed checks, after an exit. */
  verify(share: number): void {
    this.solved = share >= 1;
    this.finish(this.solved ? 'solved' : 'failed', this.setup.config.fractionalReward ? share : this.solved ? 1 : 0);
  }

  /** The finished rollout. */
  result(): Rollout {
    if (!this.stop) throw new Error('rollout is not finished');
    const { id, split, iteration, task, taskIndex, compactionsRequired } = this.setup;
    return {
      id,
      split,
      iteration,
      family: task.family,
      difficulty: task.difficulty,
      taskIndex,
      instruction: task.instruction,
      compactionsRequired,
      turnLimit: this.turnLimit,
      segments: this.segments,
      steps: this.steps,
      compactions: this.compactions,
      stop: this.stop,
      reward: this.reward,
      solved: this.solved,
      fedTokens: this.fedTokens,
      killed: this.killed,
      ...(this.setup.attempt !== undefined && { attempt: this.setup.attempt }),
    };
  }

  private start(): void {
    this.begin([special.bos, ...this.taskText()]);
    this.beforeAction();
  }

  /** The note's row is closed, and the attempt begins with the task and the note. */
  private startWith(note: readonly number[]): void {
    this.writesNote = false;
    this.closeSegment('summary');
    const { window, compaction } = this.setup.config;
    const context = [special.bos, ...this.taskText(), special.resume, ...note];
    // As after a compaction: the step that triggers the next one, and its summary, must fit.
    if (compaction !== 'none' && window - context.length < this.threshold) {
      this.finish('resume-too-long', 0);
      return;
    }
    this.begin(context);
    this.beforeAction();
  }

  private taskText(): number[] {
    return [special.task, ...encode(this.task.instruction)];
  }

  private begin(context: readonly number[]): void {
    this.row = new Row(context);
    this.cached = 0;
    this.live = [];
    this.stepStart = context.length;
    this.onTokens?.('context', context);
  }

  /** Stops before sampling an action that could overflow the window. */
  private beforeAction(): void {
    const { window, actionCap, observationCap } = this.setup.config;
    if (this.row.ids.length + actionCap + observationCap > window) this.finish('window-full', 0);
    else this.need = 'action';
  }

  /** What stands in the place of a summary where the policy writes none; no longer than one. */
  private unwritten(kind: 'last-n' | 'oracle'): number[] {
    const most = this.setup.config.summaryCap - 1;
    if (kind === 'last-n') return this.row.ids.slice(-most);
    return [...encode(this.setup.tracker.facts().join(' ')).slice(0, most)];
  }

  /** Eq. 9: rebuilds the context from the summary; the tail shrinks until the reserve fits, whatever M says. */
  private resume(content: readonly number[]): void {
    const { config, tracker } = this.setup;
    const before = this.row.ids.length;
    const head = [special.bos, ...(config.keepTask ? this.taskText() : []), special.resume, ...content];
    const needed = tracker.facts();
    const text = decodeCommand(content);
    // Under last-n the last steps stand there already.
    const copied = config.compaction === 'last-n' ? 0 : config.tailSteps;
    let tail = copied === 0 ? [] : this.live.slice(-copied);
    const size = () => head.length + tail.reduce((n, s) => n + s.ids.length, 0);
    while (tail.length > 0 && config.window - size() < this.threshold) tail = tail.slice(1);
    tracker.resume(text);
    const kept = new Set(tracker.facts());
    this.compactions.push({
      summary: text,
      tokensBefore: before,
      tokensAfter: size(),
      factsNeeded: needed.length,
      factsKept: needed.filter((f) => kept.has(f)).length,
    });
    if (config.window - size() < this.threshold) {
      this.finish('resume-too-long', 0);
      return;
    }
    this.begin([...head, ...tail.flatMap((s) => s.ids)]);
    // Copied steps stay eligible for the next tail, and what they show is still visible.
    this.live = [...tail];
    for (const step of tail) tracker.observe(step.command, step.output);
    this.beforeAction();
  }

  /** Stores the current row, unless nothing in it was sampled. */
  private closeSegment(kind: SegmentKind): void {
    // A summary row trains the summary alone: the actions before it belong to the execution row.
    const segment = this.row.segment(kind, kind === 'summary' ? this.sampleStart : this.row.contextLength);
    if (segment) this.segments.push(segment);
  }

  private finish(stop: StopReason, reward: number): void {
    // After a summary its row is closed already and no execution row follows.
    if (stop !== 'resume-too-long') this.closeSegment('execution');
    this.stop = stop;
    this.reward = reward;
    this.need = 'nothing';
  }
}
