from course_lib.bank.cheaper.take_in import exercise
from course_lib.bank.prelude import Tensor, torch
from course_lib.efficient import Running, online_step


@exercise.answer
def reference(
    scores: Tensor, v: Tensor, largest: Tensor, total: Tensor, out: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The library's step, with the state as a plain tuple."""
    seen = online_step(scores, v, Running(largest, total, out))
    return seen.largest, seen.total, seen.out


@exercise.mistake("Old sums are in one unit, new ones in another. May you add them?")
def never_rescaled(scores, v, largest, total, out):
    """What has been summed stays as it is."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    weights = (scores - safe).exp()
    return new, total + weights.sum(-1, keepdim=True), out + weights @ v


@exercise.mistake("A larger score comes. Do the earlier ones count for more now, or for less?")
def rescaled_the_wrong_way(scores, v, largest, total, out):
    """The factor is e to the new largest score minus the old one."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor = (safe - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    weights = (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("There are two sums. Are both in the new unit?")
def total_alone(scores, v, largest, total, out):
    """Only the sum of the weights has to be rescaled."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    weights = (scores - safe).exp()
    total = total * (largest - safe).exp() + weights.sum(-1, keepdim=True)
    return new, total, out + weights @ v


@exercise.mistake("Print -inf - (-inf).")
def nothing_seen_is_a_number(scores, v, largest, total, out):
    """A block always has a key that may be seen."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    factor, weights = (largest - new).exp(), (scores - new).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("What becomes of the next step if out is an average already?")
def averages_at_every_step(scores, v, largest, total, out):
    """The output is divided by the sum in each step."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    total = total * factor + weights.sum(-1, keepdim=True)
    return new, total, (out * factor + weights @ v) / total.masked_fill(total == 0, 1.0)


@exercise.mistake("A block of small scores comes after one of large ones. Which is the largest?")
def largest_of_this_block(scores, v, largest, total, out):
    """The largest score is that of the block at hand."""
    new = scores.amax(-1, keepdim=True)
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("One number for each row. Over which axes do you take the largest?")
def one_largest_for_all(scores, v, largest, total, out):
    """One largest score will do for all queries."""
    new = torch.maximum(largest, scores.amax()).amax().expand_as(largest).clone()
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.alternative
def old_sums_as_a_key(scores, v, largest, total, out):
    """What has been seen is one more key, with the logarithm of its sum as score; prints."""
    import sys

    print("one step", file=sys.stderr)
    new = torch.maximum(largest, scores.max(dim=-1, keepdim=True).values)
    unit = torch.where(new.isinf(), torch.zeros_like(new), new)
    old = torch.exp(largest - unit)
    joined = torch.cat([old * total, torch.exp(scores - unit)], dim=-1)
    parts = torch.cat([(old * out).unsqueeze(-2)], dim=-2)
    return new, joined.sum(-1, keepdim=True), parts.squeeze(-2) + joined[..., 1:] @ v


@exercise.alternative
def key_by_key(scores, v, largest, total, out):
    """One key after the other, with a branch instead of a maximum."""
    for j in range(scores.shape[-1]):
        score = scores[..., j : j + 1]
        larger = score > largest
        both = (score == -torch.inf) & (largest == -torch.inf)
        gap = torch.where(both, -torch.inf, -(score - largest).abs())
        gap = torch.where(both, torch.full_like(gap, -torch.inf), gap)
        old = torch.where(larger, gap.exp(), torch.ones_like(gap))
        new = torch.where(larger, torch.ones_like(gap), gap.exp())
        total = total * old + new
        out = out * old + new * v[..., j : j + 1, :]
        largest = torch.where(larger, score, largest)
    return largest, total, out
