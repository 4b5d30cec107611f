from course_lib.bank.prelude import Exercise, F, Trial, math, torch
from grader.checks.compare import kind

exercise = Exercise(
    id="lookup.lookup_scale",
    points=4,
    minutes=25,
    difficulty=3,
    chapter="02_lookup.html#lookup-sharp",
    outcomes=("lookup.sharpness",),
    example=lambda t: (torch.tensor([1.0, 0.5]), torch.eye(2), 0.9),
)

NUMBER = "the scale"


def spread(t: Trial, n: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and keys of unlike lengths; no two scores are close, and the longest key wins."""
    query = t.randn(width)
    query = query / query.norm()
    # Scores 2, 1.4, 1.15, ... along the query, and 1 across it that scores nothing.
    along = torch.tensor([2.0, 1.4] + [1.15 - 0.2 * i for i in range(n - 2)])
    across = t.randn(n, width)
    across = F.normalize(across - (across @ query)[:, None] * query, dim=-1)
    return query, (along[:, None] * query + across)[t.permutation(n)]


def even(t: Trial, n: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and keys all of length 1, where the best match is also the nearest."""
    query = t.randn(width)
    query = query / query.norm()
    along = torch.tensor([0.95, 0.6, *(0.5 - 0.1 * i for i in range(n - 2))])[:n, None]
    across = t.randn(n, width)
    across = across - (across @ query)[:, None] * query
    across = across / across.norm(dim=-1, keepdim=True) * (1 - along**2).sqrt()
    return query, (along * query + across)[t.permutation(n)]


@exercise.prop(0.5, "Two keys: the weight is a sigmoid of the difference of the two scores.")
def two_keys(t: Trial) -> None:
    """with two keys the better one gets just the target weight"""
    query, keys = even(t, 2, t.integer(2, 4))
    for least in (0.6, 0.9, 0.999):
        got = t.call(query, keys, least)
        t.close(got, t.want(query, keys, least), NUMBER, note=f"for a weight of {least}")


@exercise.prop(
    1, "Put your scale back into the softmax over *all* keys: is the largest weight `least`?"
)
def many_keys(t: Trial) -> None:
    """with many keys each of them counts, not the runner-up alone"""
    for n in (t.integer(4, 6), 12):
        query, keys = even(t, n, 3)
        got = t.call(query, keys, 0.9)
        t.close(got, t.want(query, keys, 0.9), NUMBER, note=f"{n} keys")


@exercise.prop(
    0.5, "Attention sees k·q and nothing else. When is the largest product not the nearest key?"
)
def long_keys(t: Trial) -> None:
    """the best match has the largest inner product, be it the nearest key or not"""
    side = t.randn(2).sign()
    query = torch.tensor([1.0, 0.0])
    # The first key is the query itself, the second is long and askew: it scores higher.
    keys = torch.stack([query, torch.stack([torch.tensor(3.0), 4.0 * side[0]])])
    t.close(t.call(query, keys, 0.95), t.want(query, keys, 0.95), NUMBER)


@exercise.prop(0.5, "What are the weights of n keys at scale 0?")
def nothing_to_do(t: Trial) -> None:
    """no sharpening is needed for what equal weights give already: the scale is 0"""
    query, keys = spread(t, 5, 3)
    t.close(t.call(query, keys, 0.15), 0.0, NUMBER, note="a weight of 0.15 among 5 keys")
    same = t.randn(1, 3).expand(4, 3)
    t.close(t.call(query, same, 0.2), 0.0, NUMBER, note="a weight of 0.2 among 4 equal keys")
    got = t.call(query, keys, 0.5)
    t.expect(float(got) > 0, "a weight of 0.5 among 5 keys needs a positive scale")


@exercise.prop(0.5, "What is the limit of the largest weight if two keys share the best score?")
def ties(t: Trial) -> None:
    """of two equally good keys neither reaches 0.5: from there on, the scale is infinite"""
    # Halves and quarters, so that the two best scores are equal to the last bit. The third key is
    # the farthest and looks the other way: no measure takes it for the best.
    best = 0.5 * t.integers(1, 4, 2)
    keys = torch.stack([best, best, best - 8.0])[t.permutation(3)]
    query = torch.tensor([0.25, 0.5])
    for least in (0.9, 0.5):
        note = f"two best keys, a weight of {least}"
        t.close(t.call(query, keys, least), math.inf, NUMBER, note=note)
    got = t.call(query, keys, 0.45)
    t.expect(
        0 < float(got) < math.inf, "a weight of 0.45 each can be reached, and is not at scale 0"
    )


@exercise.prop(1, "Does your search end before the answer? Widen it until it holds the answer.")
def sizes(t: Trial) -> None:
    """a query twice as long needs half the scale, and any size of number is found"""
    query, keys = spread(t, 4, 3)
    found = []
    for size in (1.0, 0.5, 2.0, 1e5, 1e-5):
        got = t.call(size * query, keys, 0.99)
        if isinstance(got, torch.Tensor) and got.numel() == 1:
            got = got.item()
        t.expect(isinstance(got, (int, float)), f"{NUMBER} is {kind(got)}, expected a number")
        found.append(float(got) * size)
        t.close(found[-1], found[0], f"{NUMBER} times the length", note=f"length {size:g}")
    t.expect(found[0] > 0, "the scale is not positive")
