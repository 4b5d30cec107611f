from course_lib.bank.informer.judge_queries import exercise
from course_lib.bank.prelude import Tensor, math, torch
from course_lib.informer import max_mean_measure, sampled_scores


@exercise.answer
def reference(q: Tensor, k: Tensor, samples: Tensor) -> Tensor:
    """Scores of the sampled pairs alone, then the largest less the mean."""
    *lead, T, d_head = q.shape
    flat = q.reshape(1, -1, T, d_head) * d_head**-0.5
    keys = k.reshape(1, -1, k.shape[-2], d_head)
    measure = max_mean_measure(sampled_scores(flat, keys, samples, explicit=True))
    return measure.reshape(*lead, T)


@exercise.mistake("How many numbers are in your sum? By how many do you divide it?")
def divided_by_all_keys(q, k, samples):
    """The sum over the sample is divided by the number of keys."""
    scores = (q.unsqueeze(-2) * k[..., samples, :]).sum(-1) / q.shape[-1] ** 0.5
    return scores.amax(-1) - scores.sum(-1) / k.shape[-2]


@exercise.mistake("What are the scores of attention divided by?")
def unscaled(q, k, samples):
    """A ranking doesn't need the scale."""
    scores = (q.unsqueeze(-2) * k[..., samples, :]).sum(-1)
    return scores.amax(-1) - scores.mean(-1)


@exercise.mistake("Try three equal scores: the largest less the mean is 0. What is yours?")
def exact_formula(q, k, samples):
    """The sampled measure is the exact one, computed on the sample."""
    scores = (q.unsqueeze(-2) * k[..., samples, :]).sum(-1) / q.shape[-1] ** 0.5
    return scores.logsumexp(-1) - scores.mean(-1)


@exercise.mistake("Where does `samples` enter your answer?")
def by_all_keys(q, k, samples):
    """The sample is a hint, and all keys judge better."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.amax(-1) - scores.mean(-1)


@exercise.mistake("How many numbers does your largest tensor have with 20,000 queries?")
def all_scores_then_some(q, k, samples):
    """Scores must all be there before some of them can be picked."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    picked = scores.gather(-1, samples.expand(*scores.shape[:-2], *samples.shape))
    return picked.amax(-1) - picked.mean(-1)


@exercise.mistake("Do two queries ever get different keys in your code?")
def one_sample_for_all(q, k, samples):
    """One sample judges all queries."""
    scores = q @ k[..., samples[0], :].mT / q.shape[-1] ** 0.5
    return scores.amax(-1) - scores.mean(-1)


@exercise.mistake("What is your measure for a query whose scores are all alike and high?")
def largest_alone(q, k, samples):
    """A query with one large score is active."""
    scores = (q.unsqueeze(-2) * k[..., samples, :]).sum(-1) / q.shape[-1] ** 0.5
    return scores.amax(-1)


@exercise.mistake("Take more queries than keys. Which of the two lengths is in your divisor?")
def divided_by_the_queries(q, k, samples):
    """The sum over the sample is divided by the length of the sequence, that of the queries."""
    scores = (q.unsqueeze(-2) * k[..., samples, :]).sum(-1) / q.shape[-1] ** 0.5
    return scores.amax(-1) - scores.sum(-1) / q.shape[-2]


@exercise.alternative
def draw_by_draw(q, k, samples):
    """One column of the samples after the other, with a running maximum; prints to stderr."""
    import sys

    print("column by column", file=sys.stderr)
    best, total = None, 0
    for column in samples.unbind(-1):
        score = torch.einsum("...d,...d->...", q, k.index_select(-2, column))
        best = score if best is None else torch.maximum(best, score)
        total = total + score
    return (best - total / samples.shape[-1]) / math.sqrt(q.shape[-1])


@exercise.alternative
def centred_keys(q, k, samples):
    """Takes the mean off the sampled keys before any product."""
    near = k[..., samples, :]
    near = near - near.mean(-2, keepdim=True)
    return (near @ (q / math.sqrt(q.size(-1)))[..., None]).squeeze(-1).max(dim=-1).values
