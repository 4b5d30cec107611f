from course_lib.bank.informer.opposite_rows import LIMIT, exercise
from course_lib.bank.prelude import Tensor, math, torch


@exercise.answer
def reference(n_keys: int) -> Tensor | None:
    """One key that is shunned by a query, and one that is liked by another."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0] = LIMIT
    rows[0, 0] = -LIMIT
    rows[1, 0] = 2.5
    return rows


@exercise.mistake("Compute all four numbers. Do your two rows change places at all?")
def sharper_is_sharper(n_keys):
    """One row is sharp, the other a little less."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = 6.0, 3.0
    return rows


@exercise.mistake("Which of your rows has a weight near 0, and which divergence notices?")
def rows_exchanged(n_keys):
    """KL(U ‖ P) is large where the query has found its key."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0] = 2.5
    rows[1] = 8.0
    rows[1, 0] = -8.0
    return rows


@exercise.mistake("How large is the largest number in your rows?")
def without_bounds(n_keys):
    """Scores may be as large as one likes."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -16.0, 2.5
    return rows


@exercise.mistake("Take two keys and let their scores differ by x. What do both depend on?")
def two_keys_too(n_keys):
    """What holds for three keys holds for two."""
    rows = torch.zeros(2, n_keys)
    rows[0] = 8.0
    rows[0, 0] = -8.0
    rows[1, 0] = 2.5
    return rows


@exercise.mistake("Print the four numbers for 5 keys and for 500. Which comparison has turned?")
def right_for_five(n_keys):
    """Rows that work for five keys work for any number."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -8.0, 3.0
    return rows


@exercise.mistake(
    "A liked key and a shunned one of the same size: which wins, and by which measure?"
)
def mirror_images(n_keys):
    """The opposite order comes from the opposite sign."""
    if n_keys < 3:
        return None
    rows = torch.zeros(2, n_keys)
    rows[0, 0], rows[1, 0] = -7.0, 7.0
    return rows


@exercise.alternative
def by_bisection(n_keys):
    """Raises one score until its row is half as far as the other; prints to stderr."""
    import sys

    if n_keys <= 2:
        return None
    shunned = torch.zeros(n_keys, dtype=torch.float64)
    shunned[-1] = -8.0

    def distance(row):
        return (row.logsumexp(0) - row.mean()).item() - math.log(n_keys)

    low, high = 0.0, 8.0
    for _ in range(50):
        liked = torch.zeros(n_keys, dtype=torch.float64)
        liked[-1] = (low + high) / 2
        if distance(liked) < 0.8 * distance(shunned):
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    print("raised to", low, file=sys.stderr)
    return torch.stack([shunned, liked])


@exercise.alternative
def two_lists(n_keys):
    """Plain lists, with room on both sides."""
    if n_keys in (1, 2):
        return None
    shunned = [-7.5] + [7.5] * (n_keys - 1)
    liked = [1.5] + [-1.0] * (n_keys - 1)
    return torch.tensor([shunned, liked])
