/** How the files look that `lab run` and `lab experiment` read. */
import type { InputHelp } from './command';

export const configInput: InputHelp = {
  what: 'config.json, a JSON object; keys that are left out have their defaults, and lab config lists all with unit and range',
  fields: [
    ['suite', 'text', 'task family or suite, one of lab tasks'],
    ['window', 'whole number, tokens', 'context window'],
    ['iterations', 'whole number', 'iterations of training'],
    ['…', '', 'any other key of lab config'],
  ],
  example: {
    text: '{"suite":"chain","window":64,"iterations":2}',
    file: 'config.json',
    // Not the run itself: what it prints differs from machine to machine.
    command: 'tasks chance config.json --tasks 20 --seed 1',
    output:
      '{"source":"…","chanceFloor":0,"tasks":20,"compacted":0.75,"compactions":2.45,"expert":0.5,"random":0,"memoryless":0,"guessing":0,"randomCompacted":0,"memorylessCompacted":0,"guessingCompacted":0,"seed":1,"build":"…"}',
  },
};

export const experimentInput: InputHelp = {
  what: 'The experiment file, a JSON object of version 1; docs/experiments.md tells more',
  fields: [
    ['id, title, about', 'text', 'names the file, its heading, what it asks; an id is like-this'],
    ['seeds, warmStarts', 'whole numbers', 'seeds of every arm, and copies of the base they begin from'],
    ['shared', 'configuration keys', 'settings of all cells'],
    ['setups[]', 'id, title, config', 'task suite and policy; optional: seeds'],
    ['arms[]', 'id, title, isolates, config', 'ways to train; optional: policy, writer, setups, seeds'],
    ['claims[]', 'id, text, left, right', 'left is larger than right, each {arm, outcome}; optional: paper, setups'],
  ],
  example: {
    text: '{"version":1,"id":"two-arms","title":"Two arms","about":"","seeds":1,"warmStarts":1,"shared":{"iterations":2},"setups":[{"id":"small","title":"Small","config":{}}],"arms":[{"id":"full","title":"Full","isolates":"Nothing.","config":{}},{"id":"masked","title":"Masked","isolates":"The loss on summaries.","config":{"trainSummary":"masked"}}],"claims":[{"id":"summaries","text":"Training summaries helps.","left":{"arm":"full","outcome":"comp"},"right":{"arm":"masked","outcome":"comp"}}]}',
    file: 'two-arms.json',
    command: 'experiment two-arms.json --list',
    output:
      '{"name":"…","done":false,"config":{…},"dependsOn":[]}\n{"name":"…","done":false,"config":{…},"dependsOn":[]}',
  },
};
