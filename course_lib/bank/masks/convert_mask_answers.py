from course_lib import masks as library
from course_lib.bank.masks.convert_mask import exercise
from course_lib.bank.prelude import Tensor, changed, math, torch


@exercise.answer
def reference(mask: Tensor, source: str, target: str, max_len: int) -> Tensor:
    """What the exercise asks for, put together from the library."""
    if source == "lengths":
        keep = library.padding_mask(mask, max_len)[:, 0, 0]
    elif source == "keep":
        keep = mask
    else:
        keep = getattr(library, f"from_{source}")(mask)
    if target == "lengths":
        return library.to_lengths(keep[:, None, None])
    return keep if target == "keep" else getattr(library, f"to_{target}")(keep)


def right(mask, source, target, max_len):
    """Base of the mistakes, itself right."""
    if source == "lengths":
        keep = torch.arange(max_len) < mask[:, None]
    elif source == "additive":
        if ((mask != 0) & (mask > -100)).any():
            raise ValueError("not a mask")
        keep = mask == 0
    else:
        keep = ~mask if source == "blocked" else mask.bool()
    if target == "lengths":
        if (~keep[:, :-1] & keep[:, 1:]).any():
            raise ValueError("not a length")
        return keep.sum(-1)
    if target == "additive":
        return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    return {"keep": keep, "blocked": ~keep, "integers": keep.long()}[target]


@exercise.mistake("Which libraries give True which meaning? Try a causal mask of two tokens.")
@changed(
    right,
    ('= ~mask if source == "blocked" else', "="),
    ('{"keep": keep, "blocked": ~keep, "integers": keep', "keep"),
    ("}[target]", 'if target == "integers" else keep'),
)
def a_boolean_is_a_boolean():
    """Boolean masks mean the same everywhere."""


@exercise.mistake("Print your additive mask. What is 0 times infinity?")
@changed(
    right,
    ("torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)", "(1 - keep.float()) * -torch.inf"),
)
def times_infinity():
    """What is allowed adds (1 - 1) * -inf, and that is nothing."""


@exercise.mistake("Ask which number is sure to lose against every score, however low.")
@changed(right, ("torch.inf", "1e9"))
def minus_a_billion():
    """A billion is as good as infinity."""


@exercise.mistake("Not every library blocks with infinity. What does yours read from -10000?")
def only_infinity_blocks(mask, source, target, max_len):
    """An additive mask blocks where it is -inf, and nowhere else."""
    if source == "lengths":
        keep = torch.arange(max_len) < mask[:, None]
    elif source == "additive":
        keep = mask != -torch.inf
    else:
        keep = ~mask if source == "blocked" else mask.bool()
    if target == "lengths":
        if (~keep[:, :-1] & keep[:, 1:]).any():
            raise ValueError("not a length")
        return keep.sum(-1)
    if target == "additive":
        return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    return {"keep": keep, "blocked": ~keep, "integers": keep.long()}[target]


@exercise.mistake("What does 0 mean in an additive mask, and what does `.bool()` make of it?")
def nonzero_is_true(mask, source, target, max_len):
    """`.bool()` turns any mask into a boolean one."""
    keep = torch.arange(max_len) < mask[:, None] if source == "lengths" else mask.bool()
    keep = ~keep if source == "blocked" else keep
    if target == "lengths":
        if (~keep[:, :-1] & keep[:, 1:]).any():
            raise ValueError("not a length")
        return keep.sum(-1)
    if target == "additive":
        return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    return {"keep": keep, "blocked": ~keep, "integers": keep.long()}[target]


@exercise.mistake("Look at a tokenizer's attention_mask: do its ones mark words or padding?")
@changed(
    right,
    ('~mask if source == "blocked" else mask.bool()', 'mask if source == "keep" else mask == 0'),
    (": keep.", ": (~keep)."),
)
def ones_are_padding():
    """In a mask of integers, 1 marks what is masked."""


@exercise.mistake("Convert a mask with padding on the left to lengths and back: what is lost?")
def counts_wherever(mask, source, target, max_len):
    """The length is the number of visible keys, wherever they are."""
    if source == "lengths":
        keep = torch.arange(max_len) < mask[:, None]
    elif source == "additive":
        if ((mask != 0) & (mask > -100)).any():
            raise ValueError("not a mask")
        keep = mask == 0
    else:
        keep = ~mask if source == "blocked" else mask.bool()
    if target == "lengths":
        return keep.sum(-1)
    if target == "additive":
        return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    return {"keep": keep, "blocked": ~keep, "integers": keep.long()}[target]


@exercise.mistake("Convert the lengths 1 and 2 with `max_len` 4. How wide is the mask?")
@changed(right, ("(max_len", "(int(mask.max())"))
def as_long_as_the_longest():
    """The longest sequence of a batch has no padding."""


@exercise.alternative
def logarithm(mask, source, target, max_len):
    """Goes through visibilities 0 and 1: additive masks are their logarithms."""
    if source == "lengths":
        seen = (mask.unsqueeze(-1) > torch.arange(max_len)).float()
    elif source == "additive":
        if not ((mask == 0) | (mask <= -100)).all():
            raise ValueError("neither 0 nor a large negative number")
        seen = torch.exp(mask.float() * torch.inf).nan_to_num(1.0)
    elif source == "blocked":
        seen = 1 - mask.float()
    else:
        seen = mask.float()
    if target == "lengths":
        if not torch.equal(seen.cumprod(-1), seen):
            raise ValueError("a hole")
        return seen.sum(-1).long()
    if target == "additive":
        return seen.log()
    if target == "integers":
        return seen.long()
    return seen == (0 if target == "blocked" else 1)


@exercise.alternative
def by_way_of_blocked(mask, source, target, max_len):
    """Uses the blocked convention in between, sorts to find holes, and warns."""
    import warnings

    warnings.warn("two conversions instead of one", stacklevel=1)
    if source == "keep" or source == "integers":
        blocked = mask == 0
    elif source == "additive":
        blocked = mask <= -100
        if (mask[~blocked] != 0).any():
            raise ValueError("a bias, not a mask")
    elif source == "lengths":
        blocked = torch.arange(max_len).expand(len(mask), -1) >= mask.view(-1, 1)
    else:
        blocked = mask
    if target == "keep":
        return ~blocked
    if target == "integers":
        return torch.where(blocked, 0, 1)
    if target == "additive":
        return torch.where(blocked, -math.inf, 0.0)
    if target == "lengths":
        ordered, _ = blocked.int().sort(dim=-1)
        if not ordered.bool().equal(blocked):
            raise ValueError("no length says this")
        return (~blocked).count_nonzero(dim=-1)
    return blocked
