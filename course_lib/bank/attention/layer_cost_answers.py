from course_lib.bank.attention.layer_cost import exercise
from course_lib.bank.prelude import changed, math
from course_lib.mixing import layer_cost

reference = exercise.answer(layer_cost)


def right(kind, n, d_model, window=2):
    """Base of the mistakes, itself right."""
    d, w = d_model, window
    near = math.ceil((n - 1) / (w - 1))
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


@exercise.mistake("Where do q, k and v come from, and does making them cost nothing?")
@changed(
    right, ("3 * n * d * d + 2 * n * n", "2 * n * n"), ("3 * n * d * d + 2 * n * w", "2 * n * w")
)
def free_projections():
    """Attention is its scores and its weighted sum; the projections cost nothing worth counting."""


@exercise.mistake("What happens to the weights once you have them, and what does that cost?")
@changed(right, ("2 * n * n", "n * n"), ("2 * n * w", "n * w"))
def scores_only():
    """Each pair of positions costs one dot product."""


@exercise.mistake("Draw three layers of width 3 without gaps: what does the last position see?")
@changed(right, ("d * d, 1, near", "d * d, 1, far"))
def always_logarithmic():
    """The receptive field of stacked convolutions multiplies with every layer."""


@exercise.mistake("May the last position look at the first one here?")
@changed(right, ("w * d, 1, near", "w * d, 1, 1"))
def attention_sees_all():
    """Any attention joins any two positions directly."""


@exercise.mistake("How many times is the state rewritten between the first token and the last?")
@changed(right, ("n - 1),", "1),"))
def state_holds_everything():
    """The last state of a recurrent layer has the first token at hand, one step away."""


@exercise.mistake("Does the second query need anything that was computed for the first?")
@changed(right, (", 1, 1)", ", n, 1)"), ("w * d, 1", "w * d, n"))
def query_after_query():
    """Attention takes one step for each query, since each has its own softmax."""


@exercise.mistake("With a window of 2, how far away is the other position?")
@changed(right, ("(w - 1)", "w"))
def window_is_the_step():
    """A layer with a window of w carries a signal w positions further."""


@exercise.mistake("What shape has the kernel's entry for one place of the window?")
@changed(right, ("d * d, 1, near", "d, 1, near"), ("* d * d, 1, far", "* d, 1, far"))
def kernel_of_numbers():
    """A kernel holds one number for each place and channel."""


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
