from course_lib.bank.block.route_tokens import exercise
from course_lib.bank.prelude import F, Tensor, changed, torch


@exercise.answer
def reference(scores: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Choose k experts for each token."""
    best, order = scores.sort(dim=-1, descending=True, stable=True)
    chosen = order[:, :k]
    share = F.one_hot(chosen, scores.shape[1]).to(scores).mean((0, 1))
    loss = scores.shape[1] * (share * scores.softmax(-1).mean(0)).sum()
    return chosen, best[:, :k].softmax(-1), loss


@exercise.mistake("Add the weights of one token. Who has the rest?")
@changed(reference, ("best[:, :k].softmax(-1)", "best.softmax(-1)[:, :k]"))
def share_of_all_experts():
    """A chosen expert weighs as much as it does among all experts."""


@exercise.mistake("Both weights are the same, whatever the scores. How does the router learn?")
@changed(reference, ("best[:, :k].softmax(-1)", "torch.full_like(best[:, :k], 1 / k)"))
def equal_weights():
    """The router chooses, and all chosen experts count alike."""


@exercise.mistake("All scores are 0. Which experts does your function choose?")
@changed(
    reference,
    (
        "best, order = scores.sort(dim=-1, descending=True, stable=True)",
        "best, order = scores.topk(k)",
    ),
)
def any_of_equals():
    """Which of equal scores comes first is left to `topk`."""


@exercise.mistake("A token that uses two experts makes two choices. Do your shares sum to 1?")
@changed(reference, (".mean((0, 1))", ".sum(1).mean(0)"))
def share_of_tokens():
    """The share of an expert is that of the tokens which use it."""


@exercise.mistake("An expert is nearly chosen by every token. Is its P small?")
@changed(
    reference,
    (
        "scores.softmax(-1).mean(0)",
        "scores.masked_fill(share == 0, -torch.inf).softmax(-1).mean(0)",
    ),
)
def unused_have_no_probability():
    """Probabilities are those of the experts in use."""


@exercise.mistake("With more experts, does your loss stay 1 where all are used equally?")
@changed(reference, ("scores.shape[1] * (share", "(share"))
def not_times_experts():
    """The loss is the sum of f P, whatever the number of experts."""


@exercise.mistake("Counts have no gradient. What in your loss tells the router to change?")
@changed(reference, ("share * scores.softmax(-1).mean(0)", "share * share"))
def shares_squared():
    """What counts is how often an expert is chosen, and nothing else."""


@exercise.alternative
def one_after_another(scores, k):
    """Takes the largest score k times, and weighs by logarithms; prints to stderr."""
    import sys

    left, picks = scores.detach().clone(), []
    for _ in range(k):
        picks.append(left.argmax(-1, keepdim=True))
        left.scatter_(1, picks[-1], -torch.inf)
    chosen = torch.cat(picks, 1)
    print(chosen.shape, file=sys.stderr)
    own = scores.gather(1, chosen)
    counts = torch.bincount(chosen.flatten(), minlength=scores.size(1))
    share = counts.to(scores) / counts.sum()
    mean = F.softmax(scores, 1).sum(0) / len(scores)
    return chosen, (own - own.logsumexp(1, keepdim=True)).exp(), len(mean) * (share @ mean)


@exercise.alternative
def token_by_token(scores, k):
    """Sorts the numbers of the experts in Python, with a softmax written out."""
    E = scores.shape[1]
    chosen = [sorted(range(E), key=lambda e: (-row[e], e))[:k] for row in scores.tolist()]
    weights = []
    for row, experts in zip(scores, chosen, strict=True):
        power = (row[experts] - row[experts[0]].detach()).exp()
        weights.append(power / power.sum())
    flat = [e for experts in chosen for e in experts]
    total = sum(
        flat.count(e) / len(flat) * sum(row.softmax(0)[e] for row in scores) / len(scores)
        for e in range(E)
    )
    return torch.tensor(chosen), torch.stack(weights), E * total
