"""Exercise ``ablations.legendre_table``."""

import math

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions.legendre import legendre_positions


def reference(length: int, d_model: int, normalise: bool = False) -> Tensor:
    """Position n is the polynomial of order n, channels are its points."""
    return legendre_positions(length, d_model, normalise=normalise)


exercise = Exercise(
    id="ablations.legendre_table",
    function="legendre_table",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="18_changes.html#ablations-legendre",
    outcomes=("ablations.legendre",),
    severe={
        "begins_at_order_zero": "every row is that of another position",
        "channel_is_the_order": "the table lies on its side",
        "both_ends": "every number is taken at another point",
        "shifted_factors": "every row but the first is another polynomial",
        "chebyshev": "every row but the first is another polynomial",
    },
    example=lambda t: (4, 6),
)


@exercise.prop(
    "position 1 is the line from -1 upwards, sampled at the channels",
    points=1,
    hint="For d_model 4 the first row is -1, -0.5, 0, 0.5: which order is that, at which points?",
)
def first_position(t: Trial) -> None:
    for d_model in (4, t.integer(5, 12)):
        t.same(1, d_model, note=f"d_model {d_model}")


@exercise.prop(
    "later positions follow from the two before them",
    points=1.5,
    hint="At x = -0.5 the orders 0 to 4 are 1, -0.5, -0.125, 0.4375, -0.2890625. Print yours.",
)
def recurrence(t: Trial) -> None:
    t.same(t.integer(3, 6), t.integer(4, 9))
    t.same(t.integer(7, 12), 16)


@exercise.prop(
    "far positions are as exact as near ones",
    points=1,
    hint="All values lie between -1 and 1. How large are the numbers that you compute them from?",
)
def far(t: Trial) -> None:
    t.same(t.integer(60, 90), t.integer(6, 10), note="some 75 positions")
    t.same(t.integer(480, 520), t.integer(6, 10), note="some 500 positions")


@exercise.prop(
    "normalised, every position has the length of a sinusoidal code",
    points=1,
    hint="Each of D / 2 pairs of a sinusoidal code contributes sin² + cos². How long is the code?",
)
def normalised(t: Trial) -> None:
    T, d_model = t.integer(5, 12), 2 * t.integer(3, 8)
    t.same(T, d_model, normalise=True)
    t.same(T, d_model, True, note="as the third argument")


@exercise.prop(
    "one channel, and an odd number of them",
    points=0.5,
    hint="With one channel there is one point. Where does the formula put it?",
)
def widths(t: Trial) -> None:
    t.same(t.integer(3, 6), 1, note="one channel", exact=True)
    t.same(t.integer(3, 6), 2 * t.integer(2, 5) + 1, note="an odd width")


@exercise.mistake("What does order 0 say about a place? Where does the paper begin?")
def begins_at_order_zero(length, d_model, normalise=False):
    """Positions are counted from 0, so the first one is the polynomial of order 0."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = [torch.ones_like(x), x]
    for n in range(1, length):
        rows.append(((2 * n + 1) * x * rows[n] - n * rows[n - 1]) / (n + 1))
    table = torch.stack(rows[:length])
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


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
def both_ends(length, d_model, normalise=False):
    """The points reach from -1 to 1 with both ends included."""
    x = torch.linspace(-1, 1, d_model, dtype=torch.float64)
    rows = [torch.ones_like(x), x]
    for n in range(1, length):
        rows.append(((2 * n + 1) * x * rows[n] - n * rows[n - 1]) / (n + 1))
    table = torch.stack(rows[1 : length + 1])
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


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
def shifted_factors(length, d_model, normalise=False):
    """The n of the recurrence is the order that is being computed."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = [torch.ones_like(x), x]
    for n in range(2, length + 1):
        rows.append(((2 * n + 1) * x * rows[n - 1] - n * rows[n - 2]) / (n + 1))
    table = torch.stack(rows[1 : length + 1])
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.mistake("Order 2 at x = 0 is -1/2. Yours?")
def chebyshev(length, d_model, normalise=False):
    """All orthogonal polynomials follow from 2 x times the last one less the one before."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = [torch.ones_like(x), x]
    for n in range(1, length):
        rows.append(2 * x * rows[n] - rows[n - 1])
    table = torch.stack(rows[1 : length + 1])
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.float()


@exercise.mistake("How long is a sinusoidal code of width D? Add up sin² + cos² over its pairs.")
def length_one(length, d_model, normalise=False):
    """Normalised rows have the length 1."""
    x = torch.arange(d_model).double() * 2 / d_model - 1
    rows = [torch.ones_like(x), x]
    for n in range(1, length):
        rows.append(((2 * n + 1) * x * rows[n] - n * rows[n - 1]) / (n + 1))
    table = torch.stack(rows[1 : length + 1])
    if normalise:
        table = table / table.norm(dim=1, keepdim=True)
    return table.float()


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
