from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="lookup.ideal_weights",
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_weights.html#lookup-alignment",
    outcomes=("lookup.weights",),
    # "wirklich noch einmal" - "really again , ": one link, two to one, one word without a link.
    example=lambda t: ([(0, 0), (1, 1), (2, 1), (0, 2)], 3, 3),
)


def reordered(t: Trial, n: int) -> list[tuple[int, int]]:
    """Links of n words whose order changes."""
    return [(int(s), target) for target, s in enumerate(t.permutation(n))]


@exercise.prop(
    1,
    "Rows are target words. A row with two links: what are its two numbers? And a link is"
    " (source, target), a matrix (target, source): which index comes first?",
)
def values(t: Trial) -> None:
    """a target word shares its attention equally among the source words it is linked to"""
    links = reordered(t, 4)
    t.same(links, 4, 4, note="one to one, in another order")
    # The fourth target word translates two more source words: n to 1.
    more = [s for s, target in links if target != 3][:2]
    t.same([*links, *((s, 3) for s in more)], 4, 4, note="three words become one")
    # Each of the words has a link: one without is asked for below.
    beyond = t.integer(0, 2)
    links = [(0, 4), (1, 4), (2, 0), (2, 1), (0, 2), (1, 3), *((s, 5 + s) for s in range(beyond))]
    t.same(links, 3, 5 + beyond, note="T > S")
    t.same([(4, 0), (1, 1), (3, 1)], 5 + t.integer(0, 2), 2, note="S > T")


@exercise.prop(
    0.5, "One source word becomes three target words: how much attention does it get in all?"
)
def sums(t: Trial) -> None:
    """rows sum to 1; columns sum to whatever the links make of them"""
    first = t.integer(0, 1)
    links = [(first, 0), (first, 1), (first, 2), (1 - first, 3)]
    weights = t.a_tensor(t.call(links, 3, 4), (4, 3))
    t.close(weights.sum(1), torch.ones(4), "the sum of the rows")
    wanted = torch.zeros(3)
    wanted[first], wanted[1 - first] = 3.0, 1.0
    t.close(weights.sum(0), wanted, "the sum of the columns")


@exercise.prop(0.5, "Does your second link of a word undo what the first has written?")
def any_order(t: Trial) -> None:
    """links come in any order"""
    links = [(0, 0), (1, 0), (2, 1), (3, 1), (1, 2), (2, 3)]
    order = t.permutation(len(links)).tolist()
    if order.index(0) < order.index(1):
        # The first word's links change places, whatever the others do.
        order.reverse()
    before = t.a_tensor(t.call(links, 4, 4), (4, 4))
    t.expect((before != before[0, 0]).any(), "all weights are the same")
    t.close(t.call([links[i] for i in order], 4, 4), before, note="links in another order")


@exercise.prop(0.5, "What is the sum of such a row, and what do you do with that sum?")
def no_link(t: Trial) -> None:
    """a target word without a link attends to nothing: its row is 0"""
    links = reordered(t, 4)
    # A word whose source has another number, so that no row and column are taken for each other.
    moved = [target for s, target in links if s != target]
    free = moved[t.integer(0, len(moved) - 1)]
    links = [(s, target) for s, target in links if target != free]
    weights = t.a_tensor(t.call(links, 4, 4), (4, 4))
    linked = (weights != 0).any(-1)
    want = torch.arange(4) != free
    t.close(linked, want, "which rows are not 0", note=f"target word {free} has no link")
    t.same([], 3, 3, note="no links at all")


@exercise.prop(0.5, "Two annotators drew the same link. Is the word then linked twice as much?")
def twice(t: Trial) -> None:
    """a link that is listed twice counts once"""
    a, b, c = t.permutation(3).tolist()
    links = [(a, 0), (b, 0), (c, 1)]
    once = t.a_tensor(t.call(links, 3, 3), (3, 3))
    t.expect((once != 0).any(), "all weights are 0")
    t.close(t.call([*links, (b, 0)], 3, 3), once, note="a link twice, against once")
