/** How the lines of `lab advantages` and `lab loss` look. The numbers are exact in float32: both engines print the same. */
import type { InputHelp } from './command';

const LINE = 'One JSON object a line on standard input (T: tokens of a segment; log-probs in nats)';
const MASK = ['segments[].mask', 'T × 0 | 1', '1: written by the policy, trained; 0: read only'] as const;
const KIND = ['segments[].kind', 'execution | summary', 'acting, or writing a summary'] as const;

export const advantageInput: InputHelp = {
  what: `${LINE}, a rollout each`,
  fields: [
    ['mode', 'paper | uncorrected | stitched | last-only', 'how the reward reaches segments before the last'],
    ['reward', 'number', 'reward of the rollout, at its last mask-1 token'],
    ['gamma', 'number, 0 to 1', 'discount a token'],
    ['lam', 'number, 0 to 1', 'λ of the generalised advantage estimate'],
    ['segments', 'array, 1 or more', 'segments of the rollout, in order'],
    KIND,
    ['segments[].values', 'T numbers', 'value estimate before each token, in units of reward'],
    MASK,
  ],
  example: {
    text: '{"mode":"paper","reward":1,"gamma":1,"lam":0.5,"segments":[{"kind":"execution","values":[0.25,0,0.5],"mask":[1,0,1]},{"kind":"summary","values":[0.5],"mask":[1]}]}',
    command: 'advantages',
    output: '{"advantages":[[0.25,0,0.25],[0.5]],"targets":[[0.75,0,1],[1]]}',
  },
};

export const lossInput: InputHelp = {
  what: `${LINE}, an optimiser step each`,
  fields: [
    ['norm', 'token | segment | rollout | split', 'what the loss is averaged over'],
    ['clip', 'number, 0 or more', 'ε: the ratio is clipped to 1 ± ε'],
    ['rollouts', 'arrays of whole numbers', 'segments of each rollout, counted from 0; every segment once'],
    ['segments', 'array, 1 or more', 'segments of the step'],
    KIND,
    MASK,
    ['segments[].oldLogp', 'T numbers', 'log-prob of each token under the policy that wrote it'],
    ['segments[].logp', 'T numbers', 'log-prob of each token under the policy being trained'],
    ['segments[].advantages', 'T numbers', 'advantage of each token'],
  ],
  example: {
    text: '{"norm":"token","clip":0.25,"rollouts":[[0,1]],"segments":[{"kind":"execution","mask":[1,0,1],"oldLogp":[-1,0,-2],"logp":[-1,0,-2],"advantages":[0.5,0,-1]},{"kind":"summary","mask":[1,1],"oldLogp":[-1,-3],"logp":[-1,-3],"advantages":[1,0.5]}]}',
    command: 'loss',
    output: '{"loss":-0.25,"gradLogp":[[-0.125,0,0.25],[-0.25,-0.125]]}',
  },
};
