from course_lib.attention_maps import ARCHETYPES
from course_lib.bank.prelude import Exercise, F, Tensor, Trial, Wrong, torch
from grader.checks.compare import kind


def draw_map(kind: str, n: int, generator: torch.Generator, noise: float = 0.1) -> Tensor:
    """Draw a map of a kind.

    Args:
        kind: "diagonal", "vertical", "block", "uniform" or "heterogeneous".
        n: Number of queries and of keys, at least 10.
        generator: Source of what a kind leaves open, and of the noise.
        noise: Share of each row that is random.

    Returns:
        Weights (n, n) whose rows sum to 1.
    """

    def below(high: int) -> int:
        return int(torch.randint(high, (), generator=generator))

    def some(n: int, k: int) -> Tensor:
        return torch.randperm(n, generator=generator)[:k]

    places = torch.arange(n)
    distance = places - places[:, None]
    looks = torch.ones(n, n)
    if kind == "diagonal":
        shift = below(4) - 1
        looks = (distance.abs() <= 1 if shift == 2 else distance == shift).float()
        # Where the key would lie outside, a query looks at itself.
        looks += torch.eye(n) * (looks.sum(-1, keepdim=True) == 0)
    elif kind == "vertical":
        looks = torch.zeros(n, n).index_fill(1, some(n, 1 + below(2)), 1.0)
    elif kind == "block":
        borders = 2 + 2 * some(n // 2 - 1, 2 + below(n // 4 - 1))
        block = (places[:, None] >= borders).sum(-1)
        looks = (block[:, None] == block).float()
    elif kind == "heterogeneous":
        looks = torch.stack([F.one_hot(some(n, 1 + below(2)), n).sum(0) for _ in range(n)]).float()
    random = torch.rand(n, n, generator=generator)
    made = [weights / weights.sum(-1, keepdim=True) for weights in (looks, random)]
    return (1 - noise) * made[0] + noise * made[1]


# Over 40 seeds and all properties the reference names all of the maps rightly; the margin is 0.05.
LEVEL = 0.95
_N_MAPS = 25

exercise = Exercise(
    id="reading.archetypes",
    points=5,
    minutes=30,
    difficulty=4,
    chapter="10_kinds.html#reading-archetypes",
    outcomes=("reading.kinds",),
    example=lambda t: (torch.stack([draw_map(kind, 10, t.generator) for kind in ARCHETYPES]),),
    severe={
        "sharp_is_vertical": "heterogeneous maps are called vertical, two columns heterogeneous",
        "by_entropy": "one number cannot tell five kinds apart",
        "no_remainder": "every heterogeneous map gets the name of another kind",
    },
)


def _level(t: Trial, maps: Tensor, kinds: list[str]) -> None:
    """Expect nearly all maps to be named rightly."""
    got = t.call(maps)
    if not isinstance(got, (list, tuple)) or len(got) != len(kinds):
        raise Wrong(f"the result is {kind(got)}, expected a list of {len(kinds)} names")
    right = sum(name == kind for name, kind in zip(got, kinds, strict=True)) / len(kinds)
    missed = [(k, g) for g, k in zip(got, kinds, strict=True) if g != k]
    t.expect(
        right >= LEVEL,
        f"{right:.0%} of {len(kinds)} maps are named correctly, expected {LEVEL:.0%}"
        + (f"; a {missed[0][0]} map was called {missed[0][1]!r}" if missed else ""),
    )


def _tell(t: Trial, *kinds: str, noise: float = 0.15) -> None:
    """As many maps of each of some kinds."""
    order = [kinds[i % len(kinds)] for i in range(_N_MAPS * len(kinds))]
    # A band of a given width is a block in small maps and next to nothing in large ones.
    n = t.integer(12, 13)
    _level(t, torch.stack([draw_map(kind, n, t.generator, noise) for kind in order]), order)


@exercise.prop(
    1,
    "Which measure of a row is largest when all weights are equal?",
    says=f"uniform and heterogeneous: at least {LEVEL:.0%} of new maps are named correctly",
)
def even(t: Trial) -> None:
    _tell(t, "uniform", "heterogeneous")


@exercise.prop(
    1,
    "Go through the distances: for which of them does a band hold most?",
    says=f"heterogeneous and diagonal maps, with bands beside the main one, or 3 wide: {LEVEL:.0%}",
)
def diagonals(t: Trial) -> None:
    _tell(t, "diagonal", "heterogeneous")


@exercise.prop(
    1,
    "What does each key get from all queries together?",
    says=f"one or two columns that all queries look at, and diagonals: {LEVEL:.0%}",
)
def columns(t: Trial) -> None:
    _tell(t, "vertical", "diagonal")


@exercise.prop(
    1,
    "Two neighbours in one block look at the same keys. And two on either side of a border?",
    says=f"blocks of any size, and one or two columns: {LEVEL:.0%}",
)
def blocks(t: Trial) -> None:
    _tell(t, "block", "vertical")


@exercise.prop(
    1,
    "Print the numbers your rule looks at for twenty maps of each kind: where is the gap?",
    says=f"all five, with more noise: {LEVEL:.0%}",
)
def all_five(t: Trial) -> None:
    _tell(t, *ARCHETYPES, noise=0.3)
