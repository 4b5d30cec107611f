from course_lib.bank.favit.fuse_windows import colleagues_fuse_windows, exercise
from course_lib.bank.prelude import Tensor, changed, torch


@exercise.answer
def reference(windows: Tensor, operator: str, weight: Tensor | None = None) -> Tensor:
    """Mean, maximum or weighted sum along the fourth axis."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear" or weight is None:
        raise ValueError(f"operator is {operator!r}, expected 'mean', 'max' or 'linear'")
    return (windows * weight[:, None]).sum(3)


@exercise.mistake("Run the three symptoms on your version.")
def as_it_was(windows, operator, weight=None):
    """The shapes are right, so the function is."""
    return colleagues_fuse_windows(windows, operator, weight)


def right(windows, operator, weight=None):
    """Base of the mistakes, itself right."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("Of which numbers is the first value the mean? The first symptom tells.")
@changed(right, ("windows.mean(3", "colleagues_fuse_windows(windows, operator"))
def pools_channels():
    """An average that leaves c of nW times c numbers averages windows."""


@exercise.mistake("Give it windows in which every number is negative.")
@changed(right, ("amax(3)", "amax(3).clamp(min=0)"))
def begins_at_zero():
    """A maximum can begin at 0."""


@exercise.mistake("Try a weighted sum with three windows and five channels.")
@changed(right, ('torch.einsum("bhlwc,w->bhlc", windows, weight', "(windows * weight).sum(3"))
def weights_of_channels():
    """A tensor of weights finds its axis by itself."""


@exercise.mistake("Are the weights of a linear operator shares of a whole?")
@changed(right, ("weight)", "weight / weight.sum())"))
def weights_sum_to_one():
    """Weights of a sum are shares, so they are divided by their total."""


@exercise.mistake("Of -3 and 2, which is the larger one?")
def largest_size(windows, operator, weight=None):
    """The maximum is the value that is furthest from 0."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        index = windows.abs().argmax(3, keepdim=True)
        return windows.gather(3, index).squeeze(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("What comes back for an operator that does not exist?")
@changed(right, ('    if operator != "linear":\n        raise ValueError(operator)\n', ""))
def else_is_linear():
    """What is neither mean nor maximum is a weighted sum."""


@exercise.mistake("Call `backward` on a maximum. Which windows get a gradient?")
@changed(right, ("amax(3)", "detach().amax(3)"))
def maximum_is_no_number_to_learn_from():
    """What is chosen needs no gradient."""


@exercise.alternative
def window_after_window(windows, operator, weight=None):
    """Adds up or compares one window after the other; warns."""
    import warnings

    warnings.warn("a loop", stacklevel=1)
    if operator not in {"mean", "max", "linear"}:
        raise ValueError("no such operator")
    first, *others = windows.unbind(dim=-2)
    if operator == "max":
        for other in others:
            first = torch.where(other > first, other, first)
        return first
    factors = [1 / windows.shape[-2]] * windows.shape[-2] if operator == "mean" else weight.unbind()
    total = first * factors[0]
    for other, factor in zip(others, factors[1:], strict=True):
        total = total + other * factor
    return total


@exercise.alternative
def by_matrix_product(windows, operator, weight=None):
    """Brings the windows to the end and multiplies with a vector, or sorts."""
    last = windows.transpose(-1, -2)
    match operator:
        case "max":
            return last.sort(dim=-1).values[..., -1]
        case "mean":
            n = last.shape[-1]
            return (last @ last.new_ones(n, 1)).squeeze(-1) / n
        case "linear":
            return last @ weight
    raise ValueError(f"{operator} is unknown")
