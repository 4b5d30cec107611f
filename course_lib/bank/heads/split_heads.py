"""Exercise ``heads.split_heads``."""

import torch

from course_lib.attention import split_heads
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial

exercise = Exercise(
    id="heads.split_heads",
    function="split_heads",
    reference=split_heads,
    points=3,
    minutes=10,
    difficulty=1,
    chapter="04_heads.html#heads-cut",
    outcomes=("heads.split",),
    example=lambda t: (t.randn(2, 4, 6), 2),
)


@exercise.prop(
    "head h of a token holds the h-th block of its channels, in order",
    points=1,
    hint="Number the channels 0, 1, 2, … for two tokens and print what each head holds.",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, t.integer(4, 6), 6), 3)


@exercise.prop(
    "what a head holds of token t comes from token t alone, and a gradient gets back to it",
    points=1.5,
    hint="Change one token and look at which entries of the heads change. And is anything detached,"
    " converted to numpy or to a list?",
)
def own_token(t: Trial) -> None:
    x = t.randn(2, 5, 8)
    before = t.a_tensor(t.call(x, 4), (2, 4, 5, 2))
    place = t.integer(1, 3)
    x[1, place] += 1 + t.randn(8).abs()
    after = t.a_tensor(t.call(x, 4), (2, 4, 5, 2))
    changed = (after != before).any(-1)
    expected = torch.zeros(2, 4, 5, dtype=torch.bool)
    expected[1, :, place] = True
    wrong = sorted({(b, s) for b, _, s in changed.ne(expected).nonzero().tolist()})
    t.expect(
        not wrong,
        f"token {place} of sentence 1 was changed, and it is wrong what that changes at"
        f" (sentence, token) {', '.join(map(str, wrong[:3]))}",
    )
    t.gradient(t.randn(2, 3, 4, dtype=torch.float64), 2)


@exercise.prop(
    "any number of heads, from one to d_model",
    points=0.5,
    hint="Which sizes of your result depend on the number of heads, and which must not?",
)
def any_number(t: Trial) -> None:
    x = t.randn(3, 4, 12)
    for n_heads in (1, 2, 6, 12):
        t.same(x, n_heads, note=f"{n_heads} heads")


def colleagues_split(x, n_heads):
    """A reshape to the right shape puts the numbers into the right places."""
    B, T, D = x.shape
    return x.reshape(B, n_heads, T, D // n_heads)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Print head 0 of the small example. Do its rows belong to one token each?")(
    colleagues_split
)


@exercise.mistake("After your transpose, which numbers lie side by side: channels, or tokens?")
def transposed_first(x, n_heads):
    """A transpose anywhere before the reshape repairs it."""
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, n_heads, T, D // n_heads)


@exercise.mistake("Which channels does head 0 get in your version: the first ones, or every H-th?")
def dealt_out(x, n_heads):
    """Channels are dealt out to the heads in turn, like cards."""
    B, T, D = x.shape
    return x.reshape(B, T, D // n_heads, n_heads).permute(0, 3, 1, 2)


@exercise.mistake("Does a head of sentence 0 hold anything of sentence 1? Change one and look.")
def cut_across_the_batch(x, n_heads):
    """The axis of the heads may be cut off anywhere, as a transpose brings it into its place."""
    B, T, D = x.shape
    return x.reshape(n_heads, B, T, D // n_heads).transpose(0, 1)


@exercise.mistake("What do your second and third head hold that the first does not?")
def same_for_all(x, n_heads):
    """Every head works on the same narrow slice of the token."""
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., :width]] * n_heads, dim=1)


@exercise.mistake("The numbers are right. Can a loss behind your function still move the tokens?")
def bookkeeping(x, n_heads):
    """Cutting is bookkeeping, and bookkeeping needs no gradient."""
    B, T, D = x.shape
    return x.detach().reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


@exercise.alternative
def stack_of_slices(x, n_heads):
    """Slices the channels and stacks the slices, without any reshape."""
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


@exercise.alternative
def sliding(x, n_heads):
    """Unfolds the channels in windows that don't overlap, and warns."""
    import warnings

    warnings.warn("unfolding", stacklevel=1)
    width = x.size(-1) // n_heads
    return x.unfold(-1, width, width).movedim(2, 1)
