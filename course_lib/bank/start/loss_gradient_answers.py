from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.start import see
from course_lib.bank.start.loss_gradient import exercise


@exercise.answer
def reference(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The derivative of the mean squared error by the weights."""
    return 2 * x.T @ (x @ w - y) / len(x)


@exercise.mistake(see("autograd", "Measure the slope: which factor is missing?"))
def half(w, x, y):
    """The 2 of a square is a matter of the step size."""
    return x.T @ (x @ w - y) / len(x)


@exercise.mistake(see("autograd", "Twice the examples: does a *mean*'s gradient double?"))
def summed(w, x, y):
    """Gradients of all examples are added."""
    return 2 * x.T @ (x @ w - y)


@exercise.mistake(see("autograd", "Raise a weight along your gradient. Does the loss rise?"))
def downhill(w, x, y):
    """The gradient points to where the loss falls."""
    return 2 * x.T @ (y - x @ w) / len(x)


@exercise.mistake(see("shapes", "Over how many numbers is the mean taken? They are not weights."))
def mean_over_weights(w, x, y):
    """The mean is over the weights."""
    return 2 * x.T @ (x @ w - y) / len(w)


@exercise.mistake(see("broadcasting", "(B, 1) minus (B,): how many differences is that?"))
def all_pairs(w, x, y):
    """A column of outputs and a row of targets can be subtracted as they are."""
    errors = (x @ w)[:, None] - y
    return 2 * x.T @ errors.mean(1) / len(x)


@exercise.alternative
def example_by_example(w, x, y):
    """Adds up each example's own gradient, and warns."""
    import warnings

    warnings.warn("a loop", stacklevel=1)
    total = torch.zeros_like(w)
    for row, wanted in zip(x, y, strict=True):
        total = total + 2 * (torch.dot(row, w) - wanted) * row
    return total / y.numel()


@exercise.alternative
def from_moments(w, x, y):
    """Never forms an error: two averages say it all."""
    covariance = torch.einsum("bi,bj->ij", x, x) / y.shape[0]
    direction = torch.einsum("bi,b->i", x, y) / y.shape[0]
    return 2 * (covariance @ w - direction)
