from course_lib.attention import split_heads
from course_lib.bank.heads.split_heads import colleagues_split, exercise
from course_lib.bank.prelude import torch

reference = exercise.answer(split_heads)


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


@exercise.mistake("The numbers are right. Can a loss after your function still move the tokens?")
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
