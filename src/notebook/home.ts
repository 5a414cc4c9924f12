/** The notebook a visitor meets first: what CompactionRL is, in plain words, and one experiment to run. */
import { DOCUMENT_VERSION, type NotebookDocument } from './document';

const problem = `An agent works in a terminal: it types a command, reads what comes back, types the next one. A language model
remembers only what stands in its **context window**, and the window is small. Here it is tiny, 64 tokens, so the agent
fills it after a few commands, long before its task is done.

What then? **Compaction**: the model writes a short summary of what it must not forget, the window is emptied, and work
goes on from the summary. Everything the summary leaves out is gone for good. A file name copied wrongly costs several
turns; a forgotten one may cost the task.

Usually the instruction "summarise" is all a model gets, and nobody tells it whether the summary was any good.
**CompactionRL** ([Li et al., 2026](https://arxiv.org/abs/2607.05378)) trains it: the commands *and* the summaries are
actions of one policy, and both learn from one reward at the very end, 1 if the task was solved and 0 if not.`;

const rollout = String.raw`## One rollout, cut into segments

A step is one command $a$ and its output $o$, and is never cut in two. The history is $h = \text{system} \oplus
\text{task} \oplus (a_1, o_1) \oplus (a_2, o_2) \oplus \cdots$ and the window holds $C$ tokens. After each complete step:

1. **When?** Compact as soon as fewer than $T_{\text{comp}}$ tokens are left: $C - |h| < T_{\text{comp}}$ (Eq. 7). The
   reserve is there so that one more command, its output and the summary always fit.
2. **What?** The *same* policy writes the summary: $S \sim \pi_\theta(\cdot \mid h \oplus q_{\text{sum}})$ (Eq. 8), where
   $q_{\text{sum}}$ asks for it.
3. **And then?** It continues in a fresh window, $h' = \text{system} \oplus \text{resume}(S) \oplus z_{t-k+1} \oplus
   \cdots \oplus z_t$ (Eq. 9), with the last $k$ steps $z$ copied word for word. The experiment above sets $k = 0$
   and repeats the task text, because 64 tokens hold no more; in the paper $k = 2$ and the summary must carry the task too.

So a rollout with $m$ compactions becomes a chain of segments: work, summary, work, summary, … The **context bar** above
shows it: it fills token by token, reaches the reserve, and folds.`;

const credit = String.raw`## Who gets the credit?

The reward $R$ arrives once, at the end, perhaps four windows after the summary that made it possible. Each segment is
trained by itself, with a critic $V$ that guesses the reward from what the policy sees. Within a segment, over the tokens
the policy wrote (outputs of the terminal are skipped), with $R$ given to the last one of *every* segment:

$$\delta_i = r_i + \gamma V_{i+1} - V_i, \qquad A^{\text{loc}}_i = \delta_i + \gamma\lambda\, A^{\text{loc}}_{i+1} \qquad \text{(Eq. 13)}$$

That alone would treat an early summary as if it stood right beside the reward. So the advantage is scaled down by the
$N_{>s}$ tokens that the policy still writes in later segments:

$$\hat A_i = (\gamma\lambda)^{N_{>s}} \, A^{\text{loc}}_i \qquad \text{(Eq. 14)}$$

It is an approximation, and the paper says so. Then PPO compares the new policy with the one that acted,
$\rho_i = \pi_\theta(y_i \mid x_i) / \pi_{\text{old}}(y_i \mid x_i)$, and averages over *all* tokens $M$ written in the
update, so that a long segment counts for more than a short one (Eq. 11–12):

$$L = -\frac{1}{|M|} \sum_{i \in M} \min\bigl(\rho_i \hat A_i,\; \text{clip}(\rho_i, 1-\varepsilon, 1+\varepsilon)\, \hat A_i\bigr)$$`;

const experimentIntro = `## Try it

The agent below is a transformer with 38,000 weights. It has seen examples of commands and of *bad* summaries, so its
syntax is right and it mostly fails. Press **Run**: your own graphics processor trains it, in a real shell, on files it has
never seen. Look for three things:

- **Success on held-out tasks**, with compaction and without. The gap is what the summaries are worth.
- **Facts kept.** The base policy forgets about half of what it still needs; what training mostly does is mend that.
- **Entropy and KL.** Both should move gently. A sudden jump means that training is coming apart.`;

const honesty = `## What this shows, and what it does not

A tiny model on small made-up tasks is a laboratory, not a proof about large ones. What holds up at this size: training
the summaries matters a great deal wherever a lost fact costs turns, and the reward has to reach the early segments. What
does *not* show: with and without the factor of Eq. 14, the small policy comes out the same, and where $\\lambda$ is small enough for
the factor to matter (tried on the code suite), it does harm. [What reproduces](#what-reproduces) has the numbers: every arm of the paper's table, in two suites and
two sizes, and more beyond it, with seeds, intervals and verdicts.

One run is one sample. Change the **seed** and run again before you believe a difference; then change one thing at a time:
leave the summaries out of the loss (*Train summaries: masked*), pay only the last segment (*Advantage: last-only*), or switch
compaction off. **Share** copies a link that holds this whole notebook with your changes. Whoever opens it sees your
settings, and nothing runs until they press Run.`;

const speed = `## How fast is this machine?

The cell below measures, on your graphics processor, how many tokens per second the engine of this page updates and decodes,
beside [tfjs](https://www.tensorflow.org/js) and [jax-js](https://jax-js.com) on the same work. A software adapter, which
imitates a graphics card on the processor, is slow: there it takes minutes.`;

/** The home page. */
export const homeDocument: NotebookDocument = {
  version: DOCUMENT_VERSION,
  title: 'Learning what to remember',
  cells: [
    { kind: 'episode', recording: '' },
    { kind: 'prose', markdown: problem },
    { kind: 'prose', markdown: experimentIntro },
    { kind: 'experiment', preset: 'quick', seed: 1, config: {} },
    { kind: 'prose', markdown: rollout },
    { kind: 'prose', markdown: credit },
    { kind: 'prose', markdown: honesty },
    { kind: 'prose', markdown: speed },
    { kind: 'bench', large: false },
  ],
};
