from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch

exercise = Exercise(
    id="favit.informative_keys",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="16_favit.html#favit-keys",
    outcomes=("favit.keys",),
    severe={"least_decided": "the queries that choose are the ones that should not"},
    example=lambda t: (t.randn(1, 1, 6, 4), t.randn(1, 1, 5, 4), 2),
)


def _asking(rows: list[list[float]]) -> Tensor:
    """Queries whose scaled scores with the unit vectors are these rows."""
    scores = torch.tensor(rows)
    return (scores * math.sqrt(scores.shape[1]))[None, None]


def _units(n: int) -> Tensor:
    return torch.eye(n)[None, None]


@exercise.prop(
    1, "How many queries choose out of two? And which of the two has the sharper weights?"
)
def the_decided_one(t: Trial) -> None:
    """of two queries the decided one chooses alone"""
    order = t.permutation(5)
    decided = torch.tensor([6.0, 5.0, 4.0, -1.0, -2.0])[order].tolist()
    against = torch.tensor([0.0, 0.01, 0.02, 0.6, 0.5])[order].tolist()
    for rows in ([decided, against], [against, decided]):
        t.same(_asking(rows), _units(5), 3)


@exercise.prop(
    1,
    "The terms of the sum are weighted by P itself. What does a key that has next to no weight"
    " add?",
)
def direction(t: Trial) -> None:
    """decided means far from uniform by KL(P || U): not by KL(U || P), nor by the largest score"""
    dislikes = [0.02, 0.01, 0.0, -0.01, 0.04, 0.03, 0.05, -12.0]
    prefers = [3.0, 0.2, 0.3, 0.1, -0.1, -0.2, -0.3, -0.4]
    order = t.permutation(8)
    rows = [torch.tensor(row)[order].tolist() for row in (dislikes, prefers)]
    t.same(_asking(rows), _units(8), 4)
    halves = [0.02, 0.01, 0.0, -0.01, -3.0, -3.01, -3.02, -3.03]
    one = [-0.03, -0.02, 0.0, 0.01, 0.03, 0.02, 0.04, 2.0]
    rows = [torch.tensor(row)[order].tolist() for row in (one, halves)]
    t.same(_asking(rows), _units(8), 4)


@exercise.prop(1, "The natural logarithm of 20 is 2.996. How many queries choose?")
def how_many(t: Trial) -> None:
    """the logarithm of the number of queries, rounded up, is how many choose"""
    rows = [[0.0] * 6 for _ in range(20)]
    places = t.permutation(20)[:3].tolist()
    rows[places[0]] = [9.0, 0.3, -2.0, 0.02, 0.01, 0.0]
    rows[places[1]] = [0.2, 8.0, -2.0, 0.01, 0.0, 0.02]
    rows[places[2]] = [0.1, 0.1, 7.0, 0.0, 0.02, 0.01]
    t.same(_asking(rows), _units(6), 3)


@exercise.prop(1.5, "Divide the scores by the root of the width first: it changes who is decided.")
def many(t: Trial) -> None:
    """many queries and keys, in batches and heads, at the temperature of the attention that
    follows
    """
    for n, k, width in ((40, 30, 16), (25, 60, 9), (70, 20, 16)):
        t.same(t.randn(3, 4, n, width), 1.5 * t.randn(3, 4, k, width), t.integer(6, 9))


@exercise.prop(
    0.5, "With all keys kept, the result is 0, 1, 2, … And ln 1 is 0, yet one query must choose."
)
def edges(t: Trial) -> None:
    """indices are int64 and ascend; one query, all keys"""
    t.same(t.randn(2, 1, 5, 4), t.randn(2, 1, 7, 4), 7, exact=True)
    t.same(t.randn(2, 2, 1, 4), t.randn(2, 2, 7, 4), 3)


@exercise.prop(
    1, "What is 0 times the logarithm of 0 on a computer? `log_softmax` knows the logarithm."
)
def large_scores(t: Trial) -> None:
    """scores of 10 000: a weight of 0 adds nothing"""
    order = t.permutation(5)
    huge = torch.tensor([1e4, 9e3, -8e3, 1.0, 0.0])[order].tolist()
    mild = torch.tensor([-1.0, 0.5, 6.0, 1.2, 1.1])[order].tolist()
    # topk takes NaN for the largest: one that dislikes a key must not be chosen for it.
    dislikes = torch.tensor([0.0, 0.01, -1e4, 0.02, 0.03])[order].tolist()
    likes = torch.tensor([-1.0, 0.5, 3.5, 1.2, 1.1])[order].tolist()
    # Of the huge scores all weights but one are 0 and in no order, so that one key is asked for.
    for one, other, n_keep in ((huge, mild, 1), (dislikes, likes, 2)):
        for rows in ([one, other], [other, one]):
            t.same(_asking(rows), _units(5), n_keep)
