/** The notebook of results: the paper's comparison at small scale, with every number, to be run again. */
import { DOCUMENT_VERSION, type NotebookDocument } from './document';

/** Every number is checked against the files of results, in order: test/unit/results-notebook.test.ts. */
export const tenLines = `## In ten lines

Which parts of [CompactionRL](https://arxiv.org/abs/2607.05378) matter, asked of tiny models on made-up tasks, many seeds instead of one.
Differences in points of success with compaction: terminal suite and code suite, small policy (in brackets: the larger one).

1. **Training with compaction works**: +19.6 and +45.1 over the base (+23.0 and +37.5).
2. **Training without it does not replace it**: CompactionRL is ahead of that by 22.0 and 49.8 (25.5 and 42.4).
3. **Nor does training in twice the window**: ahead by 21.4 and 48.2, both evaluated with compaction (27.1 and 42.0).
4. **The loss on summaries is what matters**: without it 21.0 and 44.5 are lost (23.2 and 36.9).
5. **The gain is in the writer**: the base with the trained policy’s summaries gains 18.2 and 39.0; the trained actor with the base’s, 0.7 and 2.2.
6. **Token-level normalisation helps the small policy**, by 1.9 and 16.3; for the larger one it is undecided.
7. **The cross-trajectory factor does not show**: −0.9 and −0.0, no difference; for the larger one undecided on terminal, and on code −4.2 by three seeds, undecided by nine.
8. **Where it does show, with a smaller λ, it costs**: 4.9 at λ = 0.95, 10.3 at 0.9, 22.2 at 0.8 (code).
9. **Summaries grow on terminal, by 2.1 tokens, not on code** (−0.6); without their loss they do not get shorter, as the paper’s do.
10. **A perfect summary** would still add 11.6 and 11.8; up to three attempts in one window each, with a note, solve 15.1 and 46.5 less.

What holds for a model of this size need not hold for a large one. Each arm can be run again below, on your own machine.`;

const reading = `## How to read it

A difference between two arms is taken **seed by seed**: both began from the same base and are evaluated on the same
tasks (most arms also train on the same), so luck that they share cancels out. The bar is the 95 % interval of the mean difference. **A claim of the paper** is *reproduced* where the interval excludes
zero in its direction, *not reproduced* where it excludes zero the other way (*the opposite*) or the difference is smaller than two points either way
(*no difference*), and *undecided* where these seeds cannot tell. **A question of ours**, on which the paper says nothing, is answered *yes*, *no* or *undecided* by the same rule. An absent difference is a result as well; so is a claim that stays open.

*single*, *comp* and *long* are three ways to evaluate the same final policy: inside one window without compaction, with
compaction, and in a window twice as large without compaction.`;

const paper = `## The paper’s comparison

The paper has one run an arm and no error bars. Here is the same comparison with many seeds, beside the paper’s own table.`;

const lambda = String.raw`## Where the cross-trajectory factor matters

In the comparison above the factor of Eq. 14 makes no difference to the small policy (what stands against it for the larger one
on code, by three seeds, six more did not confirm). That may be because $\lambda = 0.98$ hardly
scales anything down over episodes as short as these: $(\gamma\lambda)^{N_{>s}}$ is about one half for the first segment, by a rough count. So the
same comparison again, with smaller and smaller $\lambda$.

The arms do part, and **against** the factor: little is lost with it at 0.95, most at 0.8. A likely reason stands in the formula.
Whatever an early summary earned is scaled by $(\gamma\lambda)^{N_{>s}}$, soon next to nothing, while without the factor every
segment is paid in full however early it comes. The stitched GAE loses sooner still: it has one reward, at the very end, of which as
little arrives early, and the critic's errors from step to step, which do not fade, are added to it. Where early summaries
decide an episode, as here, credit that fades with distance is credit withheld.

The length-adaptive $\lambda = 1 - 1/(1.5\,l)$, with $l$ the tokens of the rollout, keeps out of this range: its factor never
falls much below $e^{-2/3} \approx 0.5$. By this reasoning the factor would do little there; that was not run.`;

const large = `## The same factor, more seeds

By three seeds of the larger policy the factor costs success on code. Six more, planned before any of them ran, leave it undecided.`;

const beyond = `## What else one could do

Each against the same reference. Look for four things:

- **The gain is in the writer.** Let the untrained base act on summaries of the trained policy (*Base acts, CompactionRL writes*):
  most of the gain is there. The other way round, nearly nothing.
- **The ceiling** is a perfect summary, which lists the facts still needed. The trained policy gets most of the way.
- **Retrying is no substitute here.** Up to three attempts in one window each, with or without a note in between, solve less than one
  attempt with compaction.
- **Harder than in training.** With a smaller window, and so more compactions, every policy falls far; the trained one keeps a lead.`;

export const resultsDocument: NotebookDocument = {
  version: DOCUMENT_VERSION,
  title: 'What reproduces',
  cells: [
    { kind: 'contents' },
    { kind: 'claims', results: ['paper-table', 'credit-and-lambda', 'factor-large', 'beyond-the-table'] },
    { kind: 'prose', markdown: tenLines },
    { kind: 'prose', markdown: reading },
    { kind: 'prose', markdown: paper },
    { kind: 'comparison', results: 'paper-table', folded: true },
    { kind: 'prose', markdown: lambda },
    { kind: 'comparison', results: 'credit-and-lambda', folded: true },
    { kind: 'prose', markdown: large },
    { kind: 'comparison', results: 'factor-large', folded: true },
    { kind: 'prose', markdown: beyond },
    { kind: 'comparison', results: 'beyond-the-table', folded: true },
  ],
};
