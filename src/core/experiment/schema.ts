/** Experiment files: untrusted JSON in, a checked experiment out. */
import * as v from 'valibot';
import { LabError } from '../errors';
import { armsNeeded, cellConfig, runsIn, seedsOf } from './cells';
import type { Arm, Claim, Experiment, Setup } from './experiment';
import { between, exactly, fault, kebab, list, parseWith, prose, sentence, settings } from './parse';

export const outcomeNames = ['comp', 'single', 'long', 'summaryTokens', 'compactions', 'turns', 'factRecall'] as const;

/** Most cells of one experiment. */
const MAX_CELLS = 20_000;
const seeds = between(1, 1000);

const setupSchema = exactly({ id: kebab, title: sentence, config: settings, seeds: v.exactOptional(seeds) });

const armSchema = exactly({
  id: v.pipe(kebab, v.notValue('train', 'a name other than train, which names a source of policies')),
  title: sentence,
  isolates: sentence,
  config: settings,
  policy: v.exactOptional(kebab),
  writer: v.exactOptional(kebab),
  setups: v.exactOptional(list(kebab, 1)),
  seeds: v.exactOptional(seeds),
});

const sideSchema = exactly({ arm: kebab, outcome: v.picklist(outcomeNames) });

const claimSchema = exactly({
  id: kebab,
  text: sentence,
  kind: v.exactOptional(v.picklist(['paper', 'question'])),
  paper: v.exactOptional(sentence),
  left: sideSchema,
  right: sideSchema,
  setups: v.exactOptional(list(kebab, 1)),
});

const experimentSchema = exactly({
  version: v.literal(1),
  id: kebab,
  title: sentence,
  about: prose,
  seeds,
  warmStarts: between(1, 16),
  shared: settings,
  setups: list(setupSchema, 1, 20),
  arms: list(armSchema, 1),
  claims: list(claimSchema),
});

/**
 * @param where the file, for errors
 * @throws LabError `experiment.…` naming the path of the first fault; `config.…` naming the first cell whose settings do not
 *   fit together
 */
export function parseExperiment(input: unknown, where = 'experiment'): Experiment {
  const experiment: Experiment = parseWith(experimentSchema, input, {
    code: 'experiment.bad',
    what: 'Bad experiment',
    where,
    fix: 'The format is described in docs/experiments.md.',
  });
  const { setups, arms, claims } = experiment;
  for (const [name, items] of Object.entries({ setups, arms, claims })) requireUnique(items, `${where}, ${name}`);
  for (const arm of arms) checkArm(experiment, arm, `${where}, arm ${arm.id}`);
  for (const claim of claims) checkClaim(experiment, claim, `${where}, claim ${claim.id}`);
  checkWarmStart(experiment, where);
  const size = setups.length * arms.length * experiment.seeds;
  if (size > MAX_CELLS)
    throw fault('experiment.too-large', 'The experiment is too large', where, {
      expected: `at most ${MAX_CELLS} cells (setups × arms × seeds)`,
      got: String(size),
    });
  for (const setup of setups)
    for (const arm of arms) if (runsIn(arm, setup)) requireConfig(experiment, setup, arm, where);
  return experiment;
}

function requireUnique(items: readonly { readonly id: string }[], where: string): void {
  const ids = items.map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined)
    throw fault('experiment.duplicate', 'Two entries have the same id', where, { expected: 'unique ids', got: twice });
}

function requireSetups({ setups }: Experiment, wanted: readonly string[] | undefined, where: string): void {
  const known = setups.map(({ id }) => id);
  const unknown = wanted?.find((id) => !known.includes(id));
  if (unknown !== undefined)
    throw fault('experiment.unknown-setup', 'There is no such setup', `${where}, setups`, {
      expected: known.join(' | '),
      got: unknown,
    });
}

function checkArm(experiment: Experiment, arm: Arm, where: string): void {
  requireSetups(experiment, arm.setups, where);
  if (seedsOf(experiment, arm) > experiment.seeds)
    throw fault('experiment.seeds', 'The arm has more seeds than the experiment', `${where}, seeds`, {
      expected: `at most ${experiment.seeds}`,
      got: String(arm.seeds),
    });
  if (arm.id === 'base' && (arm.policy !== 'base' || arm.writer !== undefined))
    throw fault('experiment.base', 'Base names the untrained policy', `${where}, id`, {
      expected: 'policy base and no writer in the arm of that name',
      got: `policy ${arm.policy ?? 'train'}, writer ${arm.writer ?? 'none'}`,
      fix: 'Give the arm another id.',
    });
  if (arm.writer === 'train')
    throw fault('experiment.writer', 'A writer is not trained', `${where}, writer`, {
      expected: 'base or the id of an arm',
      got: 'train',
    });
  // A trained arm is evaluated by its own run, where the policy (or what trainSummary says) writes.
  if (arm.writer !== undefined && (arm.policy ?? 'train') === 'train')
    throw fault('experiment.writer', 'An arm that is trained writes its own summaries', `${where}, writer`, {
      expected: 'a policy of base or of another arm beside a writer',
      got: arm.writer,
      fix: 'Make the swap an arm of its own, whose policy is the trained arm.',
    });
  for (const id of armsNeeded(arm)) {
    const source = experiment.arms.find((other) => other.id === id);
    // Only trained arms have a final policy; so nothing can depend on itself.
    if (!source || (source.policy ?? 'train') !== 'train')
      throw fault('experiment.unknown-arm', 'There is no such trained arm', where, {
        expected: 'the id of an arm with policy "train", or base',
        got: id,
      });
    if (seedsOf(experiment, source) < seedsOf(experiment, arm))
      throw fault('experiment.seeds', `Arm ${id}, whose policy is needed, has fewer seeds`, `${where}, seeds`, {
        expected: `at most ${seedsOf(experiment, source)}`,
        got: String(seedsOf(experiment, arm)),
      });
    const missing = experiment.setups.find((setup) => runsIn(arm, setup) && !runsIn(source, setup));
    if (missing)
      throw fault('experiment.setups', `Arm ${id}, whose policy is needed, is not in that setup`, `${where}, setups`, {
        expected: `setups of arm ${id}`,
        got: missing.id,
      });
  }
}

function checkClaim(experiment: Experiment, { left, right, setups, kind, paper }: Claim, where: string): void {
  if (kind === 'paper' && paper === undefined)
    throw fault('experiment.claim', 'A claim of the paper quotes nothing of it', `${where}, paper`, {
      expected: 'what the paper reports for it',
      got: 'nothing',
      fix: 'Quote it, or make the claim a question: kind "question".',
    });
  requireSetups(experiment, setups, where);
  const [a, b] = [left, right].map(({ arm: id }) => {
    const arm = experiment.arms.find((other) => other.id === id);
    if (arm) return arm;
    throw fault('experiment.unknown-arm', 'There is no such arm', where, {
      expected: experiment.arms.map((other) => other.id).join(' | '),
      got: id,
    });
  }) as [Arm, Arm];
  if (a === b && left.outcome === right.outcome)
    throw fault('experiment.claim', 'The claim compares a number with itself', where, {
      expected: 'another arm or another outcome on one side',
    });
  const both = (setup: Setup) => runsIn(a, setup) && runsIn(b, setup);
  const asked = experiment.setups.filter(({ id }) => setups === undefined || setups.includes(id));
  const missing = setups === undefined ? undefined : asked.find((setup) => !both(setup));
  if (missing || !asked.some(both))
    throw fault('experiment.claim', 'The two arms of the claim do not meet', where, {
      expected: 'a setup that has both arms',
      got: missing?.id ?? 'none',
    });
}

/** Seeds choose warm starts; an arm that chose its own would not be paired with the others. */
function checkWarmStart({ shared, setups, arms }: Experiment, where: string): void {
  const parts: [string, object][] = [
    ['shared', shared],
    ...setups.map(({ id, config }) => [`setup ${id}`, config] as [string, object]),
    ...arms.map(({ id, config }) => [`arm ${id}`, config] as [string, object]),
  ];
  const part = parts.find(([, config]) => 'warmStart' in config);
  if (part)
    throw fault('experiment.warm-start', 'The seed decides the warm start', `${where}, ${part[0]}, config.warmStart`, {
      expected: 'no warmStart in settings',
      fix: 'Set warmStarts of the experiment.',
    });
}

function requireConfig(experiment: Experiment, setup: Setup, arm: Arm, where: string): void {
  try {
    cellConfig(experiment, setup, arm, 1);
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    const place = `${where}, setup ${setup.id}, arm ${arm.id}: ${thrown.parts.where ?? 'config'}`;
    throw new LabError({ ...thrown.parts, where: place }, { cause: thrown });
  }
}
