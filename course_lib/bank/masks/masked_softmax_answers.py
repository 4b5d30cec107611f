from course_lib.bank.masks.masked_softmax import exercise
from course_lib.bank.prelude import F, torch
from course_lib.masks import masked_softmax

reference = exercise.answer(masked_softmax)


@exercise.mistake("What does the softmax see if every score of a row is your number?")
def minus_a_billion(scores, mask=None):
    """Any very negative number is as good as minus infinity."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1)


@exercise.mistake("It fits every dtype. What does a row look like that holds nothing else?")
def smallest_number(scores, mask=None):
    """The smallest number of the dtype is as good as minus infinity."""
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1)


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def multiplied_afterwards(scores, mask=None):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask.to(weights.dtype)


@exercise.mistake("If a blocked key wins the softmax by far, what is left to renormalise?")
def renormalised(scores, mask=None):
    """Zeroing weights and dividing by what is left is the same as masking the scores."""
    weights = scores.softmax(-1)
    if mask is None:
        return weights
    weights = weights * mask.to(weights.dtype)
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


@exercise.mistake("A row of nothing but -inf: what is its largest score, and what is left then?")
def empty_rows_forgotten(scores, mask=None):
    """There is always something to attend to."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1)


@exercise.mistake("The NaN is gone from the weights. Is it gone from the gradient?")
def nan_replaced(scores, mask=None):
    """A NaN that is replaced afterwards has done no harm."""
    if mask is None:
        return scores.softmax(-1)
    blocked = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
    return (scores + blocked).softmax(-1).nan_to_num(0.0)


@exercise.mistake("In this course, what does True in a mask mean? Test yours with a single True.")
def inverted(scores, mask=None):
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""
    if mask is None:
        return scores.softmax(-1)
    scores = scores.masked_fill(mask, -torch.inf)
    empty = mask.all(-1, keepdim=True)
    return scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


@exercise.mistake("The caller may want to look at the scores again: are they still there?")
def masks_in_place(scores, mask=None):
    """The scores are used up anyway, so they can be overwritten."""
    if mask is None:
        return scores.softmax(-1)
    empty = ~mask.any(-1, keepdim=True)
    if scores.requires_grad:
        scores = scores.clone()
    scores.masked_fill_(~mask, -torch.inf)
    return scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


@exercise.mistake("What if a blocked key scores 150 more than all others?")
def minus_a_hundred(scores, mask=None):
    """Scores are small numbers, so that -100 hides a key."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -100.0)
    return scores.softmax(-1)


@exercise.mistake("What if the visible keys score -10000, too?")
def minus_ten_thousand(scores, mask=None):
    """-10000 fits half precision and hides a key there as everywhere."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -10_000.0)
    return scores.softmax(-1)


@exercise.mistake("A blocked key that scores 20000: is it hidden when 10000 is taken off?")
def ten_thousand_less(scores, mask=None):
    """A mask of -10000 for blocked keys and 0 for others is added to the scores."""
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -10_000.0
    return scores.softmax(-1)


@exercise.alternative
def filled_twice(scores, mask=None):
    """Overwrites the NaN of empty rows; the first fill keeps it from the gradient."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = mask.logical_not()
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    return weights.masked_fill(hidden, 0)


@exercise.alternative
def exponentials(scores, mask=None):
    """Writes the softmax out over the visible keys, and warns about empty rows."""
    import warnings

    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape)
    if not mask.any(-1).all():
        warnings.warn("some queries see nothing", stacklevel=1)
    top = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    exponent = torch.where(mask, scores - top.detach(), torch.zeros_like(scores))
    e = exponent.exp() * mask
    total = e.sum(-1, keepdim=True)
    return e / (total + (total == 0).to(total.dtype))


@exercise.alternative
def loop_over_rows(scores, mask=None):
    """A softmax over the visible keys of one row at a time."""
    if mask is None:
        return scores.softmax(-1)
    mask = mask.broadcast_to(scores.shape).reshape(-1, scores.shape[-1])
    rows = []
    for row, seen in zip(scores.reshape(-1, scores.shape[-1]), mask, strict=True):
        weights = torch.zeros_like(row)
        if seen.any():
            weights = weights.masked_scatter(seen, row[seen].softmax(0))
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


@exercise.alternative
def softmax_in_single(scores, mask=None):
    """A softmax in single precision, cast back, as large models write it."""
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    lowest = torch.finfo(scores.dtype).min
    weights = F.softmax(scores.masked_fill(~mask, lowest), dim=-1, dtype=torch.float32)
    return weights.to(scores.dtype).masked_fill(~mask, 0.0)
