"""Exercise ``attention.layer_cost``."""

import math
from itertools import product

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.mixing import layer_cost

exercise = Exercise(
    id="attention.layer_cost",
    function="layer_cost",
    reference=layer_cost,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="03_attention.html#attention-cost",
    outcomes=("attention.cost",),
    example=lambda t: ("self-attention", 10, 4, 3),
    returns=("the number of multiplications", "the number of sequential steps", "the path"),
)

ATTENTION = ("self-attention", "restricted")
PRODUCTS = ("recurrent", "convolution", "dilated")


def _agree(t: Trial, which: int, kinds: tuple[str, ...], sizes: list[tuple[int, ...]]) -> None:
    """Compare one of the three numbers, and say which one of what is wrong."""
    for kind, size in product(kinds, sizes):
        got, want = t.values(t.call(kind, *size)), t.want(kind, *size)
        named = zip(("n", "d_model", "window"), size, strict=False)
        note = ", ".join([kind, *(f"{name}={number}" for name, number in named)])
        number = got[which]
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        t.close(number, want[which], exercise.returns[which], note=note)


def _sizes(t: Trial) -> list[tuple[int, ...]]:
    """A short and narrow, a long, and a wide layer; never one where n - 1 is a whole path."""
    small = (t.integer(3, 4) * 4 + 3, t.integer(3, 6), 5)
    return [small, (t.integer(30, 40) * 6 + 2, 5, 7), (12, t.integer(20, 60), 4)]


@exercise.prop(
    "multiplications of both kinds of attention",
    points=1.5,
    hint="List the matrix products with their shapes, the three projections among them. An (a, b)"
    " by (b, c) product takes a·b·c multiplications.",
)
def attention_multiplications(t: Trial) -> None:
    _agree(t, 0, ATTENTION, _sizes(t))


@exercise.prop(
    "multiplications of recurrent layer and convolutions",
    points=1,
    hint="Which matrices are applied at one position, and how large is each of them?",
)
def other_multiplications(t: Trial) -> None:
    _agree(t, 0, PRODUCTS, _sizes(t))
    _agree(t, 0, PRODUCTS, [(t.integer(5, 9), 3)])


@exercise.prop(
    "steps that must wait for one another",
    points=0.5,
    hint="With as many processors as you like: what can't be begun before its neighbour is done?",
)
def sequential(t: Trial) -> None:
    _agree(t, 1, ATTENTION + PRODUCTS, _sizes(t))


@exercise.prop(
    "path from first to last: self-attention and recurrent layer",
    points=1,
    hint="Follow one signal from the first position to the last and count how often it moves.",
)
def short_and_long_path(t: Trial) -> None:
    _agree(t, 2, ("self-attention", "recurrent"), _sizes(t))


@exercise.prop(
    "path from first to last: restricted attention and contiguous convolution",
    points=1,
    hint="A window holds the position itself: how far back does its first place lie? Draw three"
    " layers with a window of 3.",
)
def contiguous_path(t: Trial) -> None:
    window = t.integer(3, 6)
    whole = 1 + (window - 1) * t.integer(2, 9)
    around = [(whole + more, 4, window) for more in (0, 1, -1)]
    _agree(t, 2, ("restricted", "convolution"), [*_sizes(t), *around])


@exercise.prop(
    "path from first to last: dilated convolutions",
    points=1,
    hint="By how much does each further layer multiply what the last position sees? Count in whole"
    " numbers: a computed logarithm can be just above or below one.",
)
def dilated_path(t: Trial) -> None:
    sizes = [(base**power + more, 4, base)
             for base, power in ((5, 3), (3, 5), (2, t.integer(4, 8)))
             for more in (0, 1, -1)]  # fmt: skip
    _agree(t, 2, ("dilated",), [*_sizes(t), *sizes])


@exercise.mistake("Where do q, k and v come from, and does making them cost nothing?")
def free_projections(kind, n, d_model, window=2):
    """Attention is its scores and its weighted sum; the projections cost nothing worth counting."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (2 * n * n * d, 1, 1),
        "restricted": (2 * n * w * d, 1, near),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, near),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("What happens to the weights once you have them, and what does that cost?")
def scores_only(kind, n, d_model, window=2):
    """Each pair of positions costs one dot product."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + n * n * d, 1, 1),
        "restricted": (3 * n * d * d + n * w * d, 1, near),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, near),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("Draw three layers of width 3 without gaps: what does the last position see?")
def always_logarithmic(kind, n, d_model, window=2):
    """The field of view of stacked convolutions multiplies with every layer."""
    d, w = d_model, window
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, 1, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, 1, math.ceil((n - 1) / (w - 1))),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, far),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("May the last position look at the first one here?")
def attention_sees_all(kind, n, d_model, window=2):
    """Any attention joins any two positions directly."""
    d, w = d_model, window
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, 1, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, 1, 1),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, math.ceil((n - 1) / (w - 1))),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("How many times is the state rewritten between the first token and the last?")
def state_holds_everything(kind, n, d_model, window=2):
    """The last state of a recurrent layer has the first token at hand, one step away."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, 1, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, 1, near),
        "recurrent": (2 * n * d * d, n, 1),
        "convolution": (w * n * d * d, 1, near),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("Does the second query need anything that was computed for the first?")
def query_after_query(kind, n, d_model, window=2):
    """Attention takes one step for each query, since each has its own softmax."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, n, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, n, near),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, near),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("With a window of 2, how far away is the other position?")
def window_is_the_step(kind, n, d_model, window=2):
    """A layer with a window of w carries a signal w positions further."""
    d, w = d_model, window
    near = math.ceil((n - 1) / w)
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, 1, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, 1, near),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d * d, 1, near),
        "dilated": (w * n * d * d, 1, far),
    }[kind]


@exercise.mistake("What shape has the kernel's entry for one place of the window?")
def kernel_of_numbers(kind, n, d_model, window=2):
    """A kernel holds one number for each place and channel."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
    far = 0
    while w**far < n:
        far += 1
    return {
        "self-attention": (3 * n * d * d + 2 * n * n * d, 1, 1),
        "restricted": (3 * n * d * d + 2 * n * w * d, 1, near),
        "recurrent": (2 * n * d * d, n, n - 1),
        "convolution": (w * n * d, 1, near),
        "dilated": (w * n * d, 1, far),
    }[kind]


@exercise.alternative
def simulated_path(kind, n, d_model, window=2):
    """Follows the signal position by position instead of using a formula."""

    def layers(steps):
        seen, depth = {0}, 0
        while n - 1 not in seen:
            seen = {p + s for p in seen for s in steps(depth) if p + s < n}
            depth += 1
        return depth

    d2 = d_model**2
    if kind == "recurrent":
        return 2 * d2 * n, n, n - 1
    if kind == "self-attention":
        return n * (3 * d2 + 2 * n * d_model), 1, layers(lambda _: range(n))
    if kind == "restricted":
        return n * (3 * d2 + 2 * window * d_model), 1, layers(lambda _: range(window))
    gap = window if kind == "dilated" else 1
    return n * window * d2, 1, layers(lambda depth: range(0, window * gap**depth, gap**depth))


@exercise.alternative
def list_of_products(kind, n, d_model, window=2):
    """Lists the shapes of all matrix products and sums them up; says so on stderr."""
    import sys

    print(f"counting {kind}", file=sys.stderr)
    project = (n, d_model, d_model)
    shapes = {
        "self-attention": [project] * 3 + [(n, d_model, n), (n, n, d_model)],
        "restricted": [project] * 3 + [(1, d_model, window), (1, window, d_model)] * n,
        "recurrent": [project] + [(1, d_model, d_model)] * n,
        "convolution": [project] * window,
        "dilated": [(n, window * d_model, d_model)],
    }[kind]
    total = sum(a * b * c for a, b, c in shapes)
    if kind == "self-attention":
        return total, 1, 1
    if kind == "recurrent":
        return total, n, n - 1
    reach, path = 0, 0
    while reach < n - 1:
        reach += (window - 1) * (window**path if kind == "dilated" else 1)
        path += 1
    return total, 1, path
