from course_lib.bank.block.which_norm import exercise
from course_lib.bank.prelude import Tensor, changed, torch


@exercise.answer
def reference(x: Tensor, out: Tensor, x_other: Tensor, out_other: Tensor) -> str:
    """Look which tokens move; if no other does, whether the token is centred."""
    changed = (x != x_other).any(-1)
    sentence = changed.any(1)
    # Rounding moves far less than a neighbour does, and more where the numbers are larger.
    noise = 1e-4 * float(out.abs().max())
    moved = (out - out_other).abs().amax(-1) > noise
    if moved[~sentence].any():
        return "batch"
    if (moved & ~changed).any():
        return "sentence"
    return "layer" if float(out.mean(-1).abs().max()) <= noise else "frozen"


@exercise.mistake("Two more kinds of norm leave the other sentences alone. Which?")
def others_or_not(x, out, x_other, out_other):
    """If the other sentences stay where they are, it is a layer norm."""
    sentence = (x != x_other).any(-1).any(1)
    moved = (out - out_other).abs().amax(-1) > 1e-4
    return "batch" if moved[~sentence].any() else "layer"


@exercise.mistake("A batch norm in evaluation mode has no neighbours, either. What else differs?")
def frozen_unseen(x, out, x_other, out_other):
    """What leaves all other tokens alone is a layer norm."""
    changed = (x != x_other).any(-1)
    moved = (out - out_other).abs().amax(-1) > 1e-4
    if moved[~changed.any(1)].any():
        return "batch"
    return "sentence" if (moved & ~changed).any() else "layer"


@exercise.mistake("Some tokens moved. Are they in the same sentence as the exchanged one?")
def any_neighbour(x, out, x_other, out_other):
    """If any neighbour moves, the norm is over the batch."""
    changed = (x != x_other).any(-1)
    moved = (out - out_other).abs().amax(-1) > 1e-4
    if (moved & ~changed).any():
        return "batch"
    return "layer" if out.mean(-1).abs().max() < 1e-3 else "frozen"


@exercise.mistake("Is it always the first token that was exchanged?")
def always_the_first(x, out, x_other, out_other):
    """It is the first token of the first sentence that was exchanged."""
    moved = (out - out_other).abs().amax(-1) > 1e-4
    if moved[1:].any():
        return "batch"
    if moved[0, 1:].any():
        return "sentence"
    return "layer" if out.mean(-1).abs().max() < 1e-3 else "frozen"


def right(x, out, x_other, out_other):
    """Base of the mistakes, itself right."""
    changed = (x != x_other).any(-1)
    moved = (out - out_other).abs().amax(-1) > 1e-4
    if moved[~changed.any(1)].any():
        return "batch"
    if (moved & ~changed).any():
        return "sentence"
    return "layer" if out.mean(-1).abs().max() < 1e-3 else "frozen"


@exercise.mistake("Print the smallest difference that you call a movement.")
@changed(right, ("- out_other).abs().amax(-1) > 1e-4", "!= out_other).any(-1)"))
def to_the_last_digit():
    """What has not moved is equal to the last digit."""


@exercise.mistake("One of 500 tokens is exchanged. By how much does a mean of all of them move?")
@changed(right, (") > 1e-4", ") > 0.5"))
def only_large_movements():
    """Movements of less than a half are rounding."""


@exercise.mistake("Whose mean is 0 after a layer norm: a channel's, or a token's?")
@changed(right, ("-1).abs", "(0, 1)).abs"))
def channels_centred():
    """A layer norm gives each channel a mean of 0 over the tokens."""


@exercise.alternative
def by_what_is_centred(x, out, x_other, out_other):
    """Exchanges nothing: asks over which axes the outputs have a mean of 0."""
    for name, axes in (("layer", (-1,)), ("sentence", (-2, -1)), ("batch", (0, 1))):
        if out.double().mean(axes).abs().max() < 1e-3:
            return name
    return "frozen"


@exercise.alternative
def by_counting(x, out, x_other, out_other):
    """Counts tokens that moved in each sentence, and says so on stderr."""
    import sys

    moved = ~torch.isclose(out, out_other, atol=1e-4, rtol=0).all(-1)
    counts = moved.sum(1)
    print("moved", counts.tolist(), file=sys.stderr)
    if (counts > 0).sum() > 1:
        return "batch"
    if counts.max() > 1:
        return "sentence"
    token = out.reshape(-1, out.shape[-1])
    return "layer" if (token.sum(-1) ** 2).sum() < 1e-3 else "frozen"
