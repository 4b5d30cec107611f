from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="cheaper.keys_and_radius",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="14_blocks.html#cheaper-sparsity",
    outcomes=("cheaper.sparsity",),
    example=lambda t: (t.randn(6, 6).softmax(-1), 0.7),
    returns=("k", "the radius"),
)

SHARES = (0.5, 0.75, 0.9)


def part(t: Trial, index: int, weights: Tensor, share: float, note: str) -> None:
    """Compare one of the two numbers."""
    got, want = t.values(t.call(weights, share)), t.want(weights, share)
    t.close(got[index], want[index], exercise.returns[index], note=f"{note}, share {share:g}")


def local_map(t: Trial, *lead: int, T: int = 12, near: float = 0.5, sharp: float = 2) -> Tensor:
    """A map that prefers what is near, and is uneven besides."""
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    return (sharp * t.randn(*lead, T, T) - near * distance).softmax(-1)


def two_kinds(t: Trial, T: int = 12) -> Tensor:
    """A map of which half of the rows look at one key, and the others at all alike."""
    rows = torch.full((T, T), 1 / T)
    rows[::2] = torch.eye(T)[t.permutation(T)][::2]
    return rows


@exercise.prop(
    1, "Add up each row, largest weight first. Do you average before or after you compare?"
)
def best_keys(t: Trial) -> None:
    """how many best keys hold the share, on average over the queries"""
    for share in SHARES:
        part(t, 0, local_map(t), share, "a map that prefers what is near")
        part(t, 0, two_kinds(t), share, "a map of two kinds of rows")


@exercise.prop(0.5, "Add up one row, largest weight first.")
def rows_alike(t: Trial) -> None:
    """where all rows have the same weights in another order, any row tells how many keys"""
    weights = torch.linspace(0, 4, 12).softmax(-1)[t.permutation(12)]
    rolled = torch.stack([weights.roll(i) for i in range(12)])
    # Between two sums, so that rounding decides nothing.
    held = weights.sort(descending=True).values.cumsum(0)
    for k in (1, 3):
        part(t, 0, rolled, float(held[k - 1 : k + 1].mean()), "a row that is moved on and on")


@exercise.prop(1.5, "Radius 0 is the diagonal alone. What does radius 1 add, and on which sides?")
def radii(t: Trial) -> None:
    """how wide a window holds the share, on average over the queries"""
    for share in SHARES:
        part(t, 1, local_map(t), share, "a map that prefers what is near")
        part(t, 1, local_map(t, near=1.0), share, "a map that prefers what is very near")
    # Every other query needs radius 0 and the others a wide one: their mean is not what is asked.
    T, first = 12, t.integer(0, 1)
    rows = torch.full((T, T), 1 / T)
    rows[first::2] = torch.eye(T)[first::2]
    for share in (0.6, 0.9):
        part(t, 1, rows, share, "a map of which every other row is sharp")


@exercise.prop(
    0.5,
    "Eight equal weights: how many of them hold one half? From which k and radius on do you count?",
)
def exact(t: Trial) -> None:
    """a share that is met exactly is held, and a share of 0 by one key or the diagonal"""
    t.same(local_map(t), 0.0, note="a share of 0")
    for k in (1, 2, 4, 6):
        part(t, 0, torch.full((8, 8), 1 / 8), k / 8, "eight equal weights")
    # Half of the weight on the query itself and a quarter on each side.
    T = 16
    ring = torch.eye(T) / 2 + torch.eye(T).roll(1, 1) / 4 + torch.eye(T).roll(-1, 1) / 4
    part(t, 1, ring, 0.5, "half of the weight on the diagonal")


@exercise.prop(
    0.5, "A head that looks at the word before needs one key. Which radius does that take?"
)
def far(t: Trial) -> None:
    """one key may be enough and yet be far away"""
    T, back = t.integer(11, 13), t.integer(1, 4)
    previous = torch.eye(T)[(torch.arange(T) - back).clamp(min=0)]
    for index in (0, 1):
        part(t, index, previous, 0.9, f"a head that looks {back} back")
        part(t, index, previous.flip(0, 1), 0.9, f"a head that looks {back} ahead")
        part(t, index, torch.eye(T), 0.9, "a head that looks at itself")


@exercise.prop(0.5, "The average is over all rows of all maps. Which axes are those?")
def many_maps(t: Trial) -> None:
    """many heads and sentences at once: one average over all of them"""
    # One map that needs a key and a map that needs nearly all: the average needs some.
    T = 12
    sharp, flat = torch.eye(T), torch.full((T, T), 1 / T)
    maps = torch.stack([sharp, flat, flat, sharp]).unflatten(0, (2, 2))
    for index in (0, 1):
        for share in (0.6, 0.7, 0.85):
            part(t, index, maps, share, "maps (2, 2, 12, 12), two sharp and two flat")
        part(t, index, local_map(t, 2, 3), t.integer(50, 90) / 100, "maps (2, 3, 12, 12)")


@exercise.prop(0.5, "Sorting and masking can be done in a copy.")
def no_side_effect(t: Trial) -> None:
    """the map is left as it was"""
    t.unchanged(local_map(t), 0.6)
