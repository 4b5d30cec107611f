from course_lib.bank.informer.sparse_attention import colleagues_sparse_attention, exercise
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.informer import budget, first_in_prefix
from course_lib.masks import causal_mask


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, measure: Tensor, factor: int = 5, causal: bool = False
) -> Tensor:
    """Active queries attend, the others take a mean of what they may see."""
    T = q.shape[0]
    visible = causal_mask(T) if causal else torch.ones(T, T, dtype=torch.bool)
    scores = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    even = visible.to(v.dtype) / visible.sum(dim=-1, keepdim=True)
    if causal:
        active = first_in_prefix(measure, factor)
    else:
        active = torch.zeros(T, dtype=torch.bool)
        active[measure.topk(budget(T, factor)).indices] = True
    return torch.where(active[:, None], scores.softmax(dim=-1), even) @ v


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the symptom of the values that are all 1.")(
    colleagues_sparse_attention
)


@exercise.mistake("Append one token with a very large measure. Does an earlier row change?")
def ranked_as_a_whole(q, k, v, measure, factor=5, causal=False):
    """The best of the sequence attend, in a decoder as in an encoder."""
    T = len(q)
    visible = torch.ones(T, T).tril() if causal else torch.ones(T, T)
    weights = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(visible == 0, -math.inf).softmax(-1)
    out = (visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v
    rows = measure.topk(budget(T, factor)).indices
    return out.index_copy(0, rows, (weights @ v)[rows])


@exercise.mistake("Let all values be 1. Which number does the last row get?")
def summed(q, k, v, measure, factor=5, causal=False):
    """A sum of the values so far is as good as their mean."""
    T = len(q)
    visible = torch.ones(T, T).tril() if causal else torch.ones(T, T)
    weights = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(visible == 0, -math.inf).softmax(-1)
    if not causal:
        out = v.mean(0).repeat(T, 1)
        rows = measure.topk(budget(T, factor)).indices
        return out.index_copy(0, rows, (weights @ v)[rows])
    ahead = (measure[None, :] > measure[:, None]).tril().sum(-1)
    active = [int(ahead[t]) < budget(t + 1, factor) for t in range(T)]
    return torch.where(torch.tensor(active)[:, None], weights @ v, v.cumsum(0))


def right(q, k, v, measure, factor=5, causal=False):
    """Base of the mistakes, itself right."""
    T = len(q)
    visible = torch.ones(T, T).tril() if causal else torch.ones(T, T)
    weights = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(visible == 0, -math.inf).softmax(-1)
    out = (visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v
    if not causal:
        rows = measure.topk(budget(T, factor)).indices
        return out.index_copy(0, rows, (weights @ v)[rows])
    ahead = (measure[None, :] > measure[:, None]).tril().sum(-1)
    active = [int(ahead[t]) < budget(t + 1, factor) for t in range(T)]
    return torch.where(torch.tensor(active)[:, None], weights @ v, out)


@exercise.mistake("Change the last value. Which rows of a causal result may change?")
@changed(
    right, ("(visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v", "v.mean(0).repeat(T, 1)")
)
def mean_of_the_whole():
    """Queries that don't attend take the mean of all values."""


@exercise.mistake("Sum up a row of your weights after the later keys are gone.")
def masked_after_the_softmax(q, k, v, measure, factor=5, causal=False):
    """Setting the weights of later keys to 0 is enough."""
    T = len(q)
    visible = torch.ones(T, T).tril() if causal else torch.ones(T, T)
    weights = (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) * visible
    out = (visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v
    if not causal:
        rows = measure.topk(budget(T, factor)).indices
        return out.index_copy(0, rows, (weights.to(v.dtype) @ v)[rows])
    ahead = (measure[None, :] > measure[:, None]).tril().sum(-1)
    active = [int(ahead[t]) < budget(t + 1, factor) for t in range(T)]
    return torch.where(torch.tensor(active)[:, None], weights.to(v.dtype) @ v, out)


@exercise.mistake("How many tokens does query 3 know? And what is their budget?")
def budget_of_the_whole(q, k, v, measure, factor=5, causal=False):
    """The budget follows from the length of the sequence."""
    T = len(q)
    visible = torch.ones(T, T).tril() if causal else torch.ones(T, T)
    weights = (q @ k.T / q.shape[-1] ** 0.5).masked_fill(visible == 0, -math.inf).softmax(-1)
    out = (visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v
    ahead = measure[None, :] > measure[:, None]
    ahead = (ahead.tril() if causal else ahead).sum(-1)
    return torch.where((ahead < budget(T, factor))[:, None], weights @ v, out)


@exercise.mistake("Does a query that isn't active return nothing, or the average of what there is?")
@changed(
    right, ("(visible / visible.sum(-1, keepdim=True)).to(v.dtype) @ v", "torch.zeros_like(v)")
)
def nothing_for_the_others():
    """Queries that don't attend return 0."""


@exercise.mistake("Which queries have a large measure: those that prefer some keys, or the others?")
@changed(right, ("measure.", "(-measure)."), ("> measure", "< measure"))
def smallest_measures():
    """A sparse query is one with a small measure."""


@exercise.alternative
def prefix_by_prefix(q, k, v, measure, factor=5, causal=False):
    """Sorts every prefix again and fills in row by row; prints to stderr."""
    import sys

    rows = []
    for t in range(len(q)):
        end = t + 1 if causal else len(q)
        best = measure[:end].argsort(descending=True)[: budget(end, factor)]
        if t in best.tolist():
            weights = torch.softmax(k[:end] @ q[t] / math.sqrt(q.size(1)), dim=0)
            rows.append(weights @ v[:end])
        else:
            rows.append(v[:end].sum(0) / end)
    print(len(rows), "rows", file=sys.stderr)
    return torch.stack(rows)


@exercise.alternative
def ranks_by_counting(q, k, v, measure, factor=5, causal=False):
    """Writes one matrix of weights, even ones where a query is not active."""
    T = q.size(0)
    seen = torch.tril(torch.ones(T, T, dtype=torch.bool)) if causal else torch.ones(T, T).bool()
    better = (measure.unsqueeze(0) > measure.unsqueeze(1)) & seen
    limits = [budget(n, factor) for n in seen.sum(1).tolist()]
    active = better.sum(1) < torch.tensor(limits)
    scores = torch.where(active[:, None], q @ k.mT / q.size(1) ** 0.5, 0.0)
    scores = scores + torch.zeros(T, T).masked_fill(~seen, -math.inf)
    return scores.softmax(1).to(v.dtype) @ v
