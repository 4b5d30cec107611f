from course_lib.bank.ablations.legendre_table import exercise
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.positions.legendre import legendre_positions


@exercise.answer
def reference(length: int, d_model: int, normalise: bool = False) -> Tensor:
    """Position n is the polynomial of order n, channels are its points."""
    return legendre_positions(length, d_model, normalise=normalise)


def right(length, d_model, normalise=False):
    """Base of the mistakes, itself right."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = [torch.ones_like(x), x]
    for n in range(1, length):
        rows.append(((2 * n + 1) * x * rows[n] - n * rows[n - 1]) / (n + 1))
    table = torch.stack(rows[1 : length + 1])
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.mistake("What does order 0 say about a place? Where does n begin?")
@changed(right, ("1 : length + 1", ":length"))
def begins_at_order_zero():
    """Positions are counted from 0, so the first one is the polynomial of order 0."""


@exercise.mistake(
    "Along which axis does the order rise in your table: from row to row, or along a row?"
)
def channel_is_the_order(length, d_model, normalise=False):
    """The channel is the order of the polynomial and the position is the point."""
    x = torch.arange(length).double() * 2 / length - 1
    rows = [torch.ones_like(x), x]
    for n in range(1, d_model + 1):
        rows.append(((2 * n + 1) * x * rows[n] - n * rows[n - 1]) / (n + 1))
    table = torch.stack(rows[1 : d_model + 1], dim=1)
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.mistake("Put i = D - 1 into the formula for the points. Is 1 among them?")
@changed(
    right,
    ("arange(d_model).double() * 2 / d_model - 1", "linspace(-1, 1, d_model, dtype=torch.float64)"),
)
def both_ends():
    """The points reach from -1 to 1 with both ends included."""


@exercise.mistake(
    "Print the largest coefficient of order 60. How many of its digits fit into a double?"
)
def sum_of_powers(length, d_model, normalise=False):
    """Rodrigues' formula, multiplied out into powers, is as good as any other way."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = []
    for n in range(1, length + 1):
        row = torch.zeros_like(x)
        for k in range(n // 2 + 1):
            factor = (-1) ** k * math.comb(n, k) * math.comb(2 * n - 2 * k, n) / 2**n
            row = row + factor * x ** (n - 2 * k)
        rows.append(row)
    table = torch.stack(rows)
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.mistake("The formula gives order n + 1 from n and n - 1. Which n leads to order 2?")
@changed(right, ("1, length", "2, length + 1"), ("] - n *", "- 1] - n *"), ("1]) / (", "2]) / ("))
def shifted_factors():
    """The n of the recurrence is the order that is being computed."""


@exercise.mistake("Order 2 at x = 0 is -1/2. Yours?")
@changed(right, ("((2 * n + 1)", "2"), ("] - n *", "] -"), (") / (n + 1))", ")"))
def chebyshev():
    """All orthogonal polynomials follow from 2 x times the last one less the one before."""


@exercise.mistake("How long is a sinusoidal code of width D? Add up sin² + cos² over its pairs.")
@changed(right, ("* ((d_model / 2) ** 0.5 /", "/"), ("=True))", "=True)"))
def length_one():
    """Normalised rows have the length 1."""


@exercise.alternative
def numpys_polynomials(length, d_model, normalise=False):
    """Evaluates all orders by numpy; warns."""
    import warnings

    import numpy as np

    warnings.warn("numpy", stacklevel=1)
    x = np.arange(d_model) * 2 / d_model - 1
    table = torch.from_numpy(np.polynomial.legendre.legvander(x, length)).T[1:]
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.alternative
def by_differences(length, d_model, normalise=False):
    """Adds what each order differs from the one before, channel by channel, in plain numbers."""
    table = torch.empty(length, d_model)
    for i in range(d_model):
        x = 2 * i / d_model - 1
        value, change = x, x - 1
        for n in range(1, length + 1):
            table[n - 1, i] = value
            change = (n * change + (2 * n + 1) * (x - 1) * value) / (n + 1)
            value += change
    if normalise:
        squares = table.double().square().sum(1, keepdim=True)
        table = (table * (d_model / (2 * squares)).sqrt()).float()
    return table
