/** All task families. A new family is one file and one line here. */
import { LabError } from '../../core/errors';
import { type Purpose, RandomStream } from '../../core/rng';
import type { Split, Suite, TaskFamily, TaskInstance } from '../task';
import { chain } from './chain';
import { collect } from './collect';
import { manifest } from './manifest';
import { repair } from './repair';

export const families: readonly TaskFamily[] = [chain, collect, manifest, repair];
export const suites: readonly Suite[] = ['terminal', 'code'];

/** @throws `task.unknown-family` */
export function familyOf(name: string): TaskFamily {
  const family = families.find((f) => f.name === name);
  if (family) return family;
  throw new LabError({
    code: 'task.unknown-family',
    what: 'There is no such task family',
    expected: families.map((f) => f.name).join(', '),
    got: name,
    fix: 'Name a family or a suite.',
  });
}

/** The families of a suite, or the one family of that name. @throws `task.unknown-family` */
export function familiesOf(suiteOrFamily: string): readonly TaskFamily[] {
  const ofSuite = families.filter((f) => f.suite === suiteOrFamily);
  return ofSuite.length > 0 ? ofSuite : [familyOf(suiteOrFamily)];
}

export interface TaskRequest {
  /** `terminal`, `code`, or a family's name. */
  readonly tasks: string;
  /** Unsigned 32-bit run seed. */
  readonly seed: number;
  readonly split: Split;
  /** Number of the task within its split, unsigned 32-bit. */
  readonly index: number;
  /** Inclusive; clamped to each family's range. */
  readonly difficultyMin: number;
  readonly difficultyMax: number;
}

const purposeOf: Record<Split, Purpose> = { train: 'task', eval: 'evalTask' };

/** FNV-1a, one bit of it: which split an instance belongs to, a property of its content alone. */
function splitOf(content: string): Split {
  let hash = 0x811c9dc5;
  for (let i = 0; i < content.length; i++) hash = Math.imul(hash ^ content.charCodeAt(i), 0x01000193);
  return ((hash ^ (hash >>> 15)) & 1) === 0 ? 'train' : 'eval';
}

/**
 * Task number `index` of a split: family and difficulty are drawn uniformly, then the instance. The same request gives
 * the same instance. Train and eval never share one, whatever their seeds: an instance whose content belongs to the other split is drawn again.
 * @throws `task.unknown-family`, `task.difficulty`
 */
export function generateTask(request: TaskRequest): TaskInstance {
  const { tasks, seed, split, index, difficultyMin, difficultyMax } = request;
  if (!(Number.isInteger(difficultyMin) && Number.isInteger(difficultyMax) && difficultyMin <= difficultyMax)) {
    throw new LabError({
      code: 'task.difficulty',
      what: 'The difficulty range is not a range of whole numbers',
      where: 'difficultyMin, difficultyMax',
      expected: 'integers, min ≤ max',
      got: `${difficultyMin}, ${difficultyMax}`,
      fix: 'Give the smaller difficulty first.',
    });
  }
  const random = new RandomStream(seed, purposeOf[split], index);
  const family = random.pick(familiesOf(tasks));
  const clamp = (d: number) => Math.min(Math.max(d, family.minDifficulty), family.maxDifficulty);
  const low = clamp(difficultyMin);
  const difficulty = low + random.integer(clamp(difficultyMax) - low + 1);
  for (;;) {
    const draft = family.generate(random, difficulty);
    if (splitOf(JSON.stringify([family.name, draft.instruction, draft.data])) !== split) continue;
    return { ...draft, family: family.name, seed, split, index, difficulty };
  }
}
