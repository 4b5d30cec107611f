from collections.abc import Callable

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

Target = Callable[[int, int], int | None]


def _content(t: Trial, T: int, length: int) -> list[int]:
    """Where queries look that are led by content: half of them far away."""
    far = [[j for j in range(length) if abs(j - i) > 3] for i in range(T)]
    return [
        far[i][t.integer(0, len(far[i]) - 1)] if i % 2 else t.integer(0, length - 1)
        for i in range(T)
    ]


def _maps(t: Trial, T: int, lengths: list[int], targets: list[Target], top: float) -> Tensor:
    """Maps (B, H, T, T) whose rows have their largest weight ``top`` where a head's target says.

    A target gets the number of the sentence and the query; None or a place outside is led by
    content. Queries on padding look at the place before them.
    """
    weights = torch.zeros(len(lengths), len(targets), T, T)
    for b, length in enumerate(lengths):
        for h, target in enumerate(targets):
            content = _content(t, T, length)
            for i in range(T):
                if i >= length:
                    weights[b, h, i, i - 1] = 1
                    continue
                wanted = target(b, i)
                j = content[i] if wanted is None or not 0 <= wanted < length else wanted
                spread = 1 + t.randn(length).abs().clamp(max=1)
                spread[j] = 0
                weights[b, h, i, :length] = (1 - top) * spread / spread.sum()
                weights[b, h, i, j] = top
    return weights


def _offset(offset: int) -> Target:
    return lambda b, i: i + offset


def _nothing(b: int, i: int) -> None:
    return None


def _example(t: Trial) -> tuple[Tensor, Tensor]:
    return _maps(t, 12, [12, 12], [_offset(0), _offset(0)], 0.95), torch.tensor([12, 12])


def _sizes(t: Trial, *args: object, note: str = "") -> None:
    """Expect the right heads and distances; to which side a head looks is asked elsewhere."""
    got, want = t.call(*args), t.want(*args)
    t.expect(isinstance(got, (list, tuple)), "expected a list with an entry for each head")
    found, wanted = ([None if n is None else abs(n) for n in kinds] for kinds in (got, want))
    t.close(found, wanted, "offsets without their sign", note=note)


exercise = Exercise(
    id="heads.positional_heads",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="04_worth.html#heads-roles",
    outcomes=("heads.roles",),
    example=_example,
    severe={
        "mean_position": "where a row looks on average is not where it looks most, at any head",
        "main_diagonal": "no offset but 0 is ever looked for",
    },
)


@exercise.prop(
    0.5, "For each query: where is its largest weight, and how far from the query is that?"
)
def neighbours(t: Trial) -> None:
    """finds heads that look at the previous, the next or the same token"""
    kinds = [_offset(n - 1) for n in t.permutation(3).tolist()]
    T = t.integer(10, 14)
    t.same(_maps(t, T, [T] * 3, [*kinds, _nothing], 0.97), torch.tensor([T] * 3))


@exercise.prop(1, "A row with weights 0.3, 0.2, 0.2, … has a largest one, too.")
def weak(t: Trial) -> None:
    """what counts is where most attention goes, not how much of it"""
    T = t.integer(10, 14)
    t.same(_maps(t, T, [T] * 2, [_offset(-1), _nothing, _offset(1)], 0.4), torch.tensor([T] * 2))


@exercise.prop(1, "In a sentence of 8 tokens, how many can look two tokens back?")
def edges(t: Trial) -> None:
    """queries whose key would lie outside the sentence are not held against a head"""
    kinds = [_offset(-2), _offset(2), _nothing]
    order = t.permutation(3).tolist()
    maps = _maps(t, 8, [8] * 3, [kinds[n] for n in order], 0.97)
    _sizes(t, maps, torch.tensor([8] * 3))
    itself = torch.eye(2).expand(3, 1, 2, 2).clone()
    _sizes(t, itself, torch.tensor([2] * 3), note="sentences of two tokens")


@exercise.prop(
    1, "Rows from `lengths` on belong to no word. Look at what your count does with them."
)
def padding(t: Trial) -> None:
    """padding counts neither as a query nor as a key, however large its weights are"""
    lengths = [8, t.integer(9, 10), 16]
    kinds = [_offset(1), _nothing, _offset(-1)]
    order = t.permutation(3).tolist()
    maps = _maps(t, 16, lengths, [kinds[n] for n in order], 0.97)
    _sizes(t, maps, torch.tensor(lengths))
    maps[:2, :, :, -1] = 2.0
    _sizes(t, maps, torch.tensor(lengths), note="the largest weights on padding")
    kinds = [_offset(-2), lambda b, i: None if i in (3, 5) else i - 1]
    _sizes(t, _maps(t, 16, lengths, kinds, 0.98), torch.tensor(lengths), 0.97)


@exercise.prop(0.5, "Count over all queries of all sentences, and take no average before you look.")
def mixed(t: Trial) -> None:
    """heads that look to both sides, or are regular in some sentences only, are not positional"""

    def both_sides(b: int, i: int) -> int:
        return i + (1 if i % 2 else -1)

    def most_sentences(b: int, i: int) -> int | None:
        return i - 1 if b < 2 else None

    # In the third sentence the second head looks elsewhere, and hardly prefers it.
    kinds = [both_sides, most_sentences, _offset(-1)]
    maps, weak = (_maps(t, 12, [12] * 3, kinds, top) for top in (0.9, 0.3))
    maps[2] = weak[2]
    _sizes(t, maps, torch.tensor([12] * 3))


@exercise.prop(0.5, "Add up hits and queries over all sentences first, and divide once.")
def together(t: Trial) -> None:
    """all sentences are counted together, long ones for more than short ones"""

    # Misses are at odd places, which never look at the previous token by chance.
    def weak_when_short(b: int, i: int) -> int | None:
        return None if b == 0 and i in (3, 5) else i - 1

    def weak_when_long(b: int, i: int) -> int | None:
        return None if b == 2 and i in (3, 5, 7, 9) else i - 1

    lengths = torch.tensor([8, 16, 16])
    _sizes(t, _maps(t, 16, lengths.tolist(), [weak_when_short, _nothing], 0.6), lengths)
    lengths = torch.tensor([8, 8, 16])
    _sizes(t, _maps(t, 16, lengths.tolist(), [weak_when_long, _offset(1)], 0.6), lengths)


@exercise.prop(0.5, "A share of 0.7 is reached by a head that looks there seven times out of ten.")
def options(t: Trial) -> None:
    """share and max_offset are used"""

    def mostly(b: int, i: int) -> int | None:
        return None if i in (3, 5, 7) else i - 1

    lengths = torch.tensor([16, 16])
    maps = _maps(t, 16, [16] * 2, [mostly, _offset(3), _nothing], 0.6)
    _sizes(t, maps, lengths)
    for share in (0.7, 0.79, 0.9):
        _sizes(t, maps, lengths, share, 3, note=f"share {share}")
    _sizes(t, _maps(t, 16, [16] * 2, [_offset(-2), _nothing], 0.6), lengths, 0.86)
    # 9 of 12 queries, and 3/4 is exact in any precision.
    exactly = _maps(t, 13, [13] * 2, [mostly, _nothing], 0.6)
    _sizes(t, exactly, torch.tensor([13, 13]), 0.75, note="a share that is just reached")
