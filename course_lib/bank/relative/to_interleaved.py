"""Exercise ``relative.to_interleaved``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions import Layout, convert_rotary_layout, rotary_angles, rotate


def reference(weight: Tensor, n_heads: int, d_rotary: int | None = None) -> Tensor:
    """The library's reordering of rows, from half-split to interleaved."""
    return convert_rotary_layout(weight, n_heads, to="interleaved", d_rotary=d_rotary)


exercise = Exercise(
    id="relative.to_interleaved",
    function="to_interleaved",
    reference=reference,
    points=4.5,
    minutes=20,
    difficulty=3,
    chapter="08_relative.html#relative-layouts",
    example=lambda t: (t.randn(12, 12), 2),
    outcomes=("relative.layouts",),
    severe={"columns": "rows have to move, and none does"},
)


@exercise.prop(
    "the two partners of every pair become neighbours",
    points=1,
    hint="Number the rows of one head with six channels: 0 to 5. Which order do you want?",
)
def one_head(t: Trial) -> None:
    width = 2 * t.integer(3, 5)
    t.same(t.randn(width, 5), 1, note=f"one head of {width} channels")


@exercise.prop(
    "each head by itself",
    points=1,
    hint="The rows of head 0 come first, then those of head 1. No row leaves its head.",
)
def several_heads(t: Trial) -> None:
    # Against the answer's own order of one head.
    n_heads = t.integer(2, 4)
    for width, columns in ((6, 7), (8, 3)):
        weight = t.randn(n_heads * width, columns)
        alone = [t.a_tensor(t.call(w, 1), w.shape) for w in weight.split(width)]
        t.expect((alone[0] != weight[:width]).any(), "no row has moved")
        t.close(t.call(weight, n_heads), torch.cat(alone), note=f"{n_heads} heads of {width}")


@exercise.prop(
    "bias vectors, too; what comes in is left as it was",
    points=0.5,
    hint="Index the first axis, whatever comes behind it, and make a new tensor.",
)
def bias_vectors(t: Trial) -> None:
    bias = t.randn(8 * t.integer(2, 4))
    matrix = t.a_tensor(t.call(bias[:, None], 2), (len(bias), 1), "a matrix of one column")
    t.expect((matrix[:, 0] != bias).any(), "no row has moved")
    t.close(t.call(bias, 2), matrix[:, 0], "a bias vector, against a matrix of one column")
    t.unchanged(bias, 2)


@exercise.prop(
    "with `d_rotary`, only the first channels of each head are paired, the others stay",
    points=1,
    hint="If 6 of 10 channels turn, which is the partner of channel 0 in the half-split layout?",
)
def some_channels(t: Trial) -> None:
    for weight, d_rotary in ((t.randn(10, 4), 6), (t.randn(12), 8)):
        first = weight[:d_rotary]
        part = t.a_tensor(t.call(first, 1), first.shape, "the first channels alone")
        t.expect((part != first).any(), "no row has moved")
        want = torch.cat([part, weight[d_rotary:]])
        t.close(t.call(weight, 1, d_rotary=d_rotary), want, note=f"d_rotary={d_rotary}")
    weight, n_heads = t.randn(30, 4), t.integer(2, 3)
    weight = weight[: 10 * n_heads]
    alone = [t.call(w, 1, d_rotary=6) for w in weight.split(10)]
    t.close(t.call(weight, n_heads, d_rotary=6), torch.cat(alone), note=f"{n_heads} heads")


@exercise.prop(
    "scores come out as they did before, with the other rotation",
    points=1,
    hint="Is it from half-split to interleaved, or the other way round?",
)
def same_scores(t: Trial) -> None:
    x, n_heads = t.randn(5, 12), 2
    angles = rotary_angles(t.integers(1, 60, 5), 6)
    scores = []
    weights = t.randn(12, 12), t.randn(12, 12)
    converted = [t.a_tensor(t.call(w, n_heads), w.shape) for w in weights]
    layouts: tuple[Layout, Layout] = ("half_split", "interleaved")
    for parts, layout in zip((weights, converted), layouts, strict=True):
        q, k = ((x @ w.T).view(5, n_heads, 6).transpose(0, 1) for w in parts)
        scores.append(rotate(q, angles, layout) @ rotate(k, angles, layout).mT)
    t.close(scores[1], scores[0], "a table of scores")


@exercise.mistake("Convert 0, 1, 2, 3, 4, 5 and look: where have 0 and 3 come to stand?")
def the_other_way(weight, n_heads, d_rotary=None):
    """Taking every second channel first leads to either layout."""
    d_head = len(weight) // n_heads
    d = d_head if d_rotary is None else d_rotary
    order = torch.arange(d_head)
    order[:d] = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    return torch.cat([head[order] for head in weight.split(d_head)])


@exercise.mistake("Convert the numbers 0 to 11 for two heads. Do 0 to 5 stay among themselves?")
def across_heads(weight, n_heads, d_rotary=None):
    """The halves are those of all rows together."""
    d = len(weight) if d_rotary is None else d_rotary * n_heads
    order = torch.arange(len(weight))
    order[:d] = order[:d].view(2, -1).T.flatten()
    return weight[order]


@exercise.mistake("Let 6 of 10 channels turn. Which rows of a head must not move?")
def all_turn(weight, n_heads, d_rotary=None):
    """Every channel of a head belongs to a pair."""
    d_head = len(weight) // n_heads
    order = torch.arange(d_head).view(2, -1).T.flatten()
    return torch.cat([head[order] for head in weight.split(d_head)])


@exercise.mistake("Which axis of an `nn.Linear`'s weight are the channels that it makes?")
def columns(weight, n_heads, d_rotary=None):
    """A projection's output channels are the columns of its weight."""
    d_head = weight.shape[-1] // n_heads
    d = d_head if d_rotary is None else d_rotary
    order = torch.arange(d_head)
    order[:d] = order[:d].view(2, -1).T.flatten()
    return torch.cat([head[..., order] for head in weight.split(d_head, dim=-1)], dim=-1)


@exercise.mistake("Which head has row 1: head 0 or head 1?")
def heads_take_turns(weight, n_heads, d_rotary=None):
    """Rows belong to the heads by turns."""
    d_head = len(weight) // n_heads
    d = d_head if d_rotary is None else d_rotary
    order = torch.arange(d_head)
    order[:d] = order[:d].view(2, -1).T.flatten()
    return weight.unflatten(0, (d_head, n_heads))[order].flatten(0, 1)


@exercise.mistake("If 6 of 10 channels turn: how far apart are partners, 3 or 5?")
def halves_of_the_head(weight, n_heads, d_rotary=None):
    """Partners are half a head apart, however many channels turn."""
    d_head = len(weight) // n_heads
    pairs = (d_head if d_rotary is None else d_rotary) // 2
    first = torch.arange(pairs)
    order = torch.stack([first, first + d_head // 2], dim=-1).flatten()
    rest = [c for c in range(d_head) if c not in order.tolist()]
    order = torch.cat([order, torch.tensor(rest, dtype=torch.long)])
    return torch.cat([head[order] for head in weight.split(d_head)])


@exercise.mistake("Which channels of a head turn, if not all do: the first ones or the last?")
def the_last_turn(weight, n_heads, d_rotary=None):
    """If not all channels turn, the first ones rest."""
    d_head = len(weight) // n_heads
    d = d_head if d_rotary is None else d_rotary
    order = torch.arange(d_head)
    order[d_head - d :] = order[d_head - d :].view(2, -1).T.flatten()
    return torch.cat([head[order] for head in weight.split(d_head)])


@exercise.alternative
def row_by_row(weight, n_heads, d_rotary=None):
    """Copies row after row into place, in plain Python; prints to stderr."""
    import sys

    print("copying", file=sys.stderr)
    d_head = weight.shape[0] // n_heads
    turning = d_rotary or d_head
    out = weight.clone()
    for head in range(n_heads):
        for pair in range(turning // 2):
            start = head * d_head
            out[start + 2 * pair] = weight[start + pair]
            out[start + 2 * pair + 1] = weight[start + turning // 2 + pair]
    return out


@exercise.alternative
def halves_side_by_side(weight, n_heads, d_rotary=None):
    """Stacks the two halves of each head along a new axis."""
    heads = weight.reshape(n_heads, -1, *weight.shape[1:])
    d = heads.shape[1] if d_rotary is None else d_rotary
    a, b, rest = heads.tensor_split([d // 2, d], dim=1)
    paired = torch.stack([a, b], dim=2).flatten(1, 2)
    return torch.cat([paired, rest], dim=1).reshape(weight.shape)


@exercise.alternative
def sorted_by_partner(weight, n_heads, d_rotary=None):
    """Gives every row a key and sorts."""
    d_head = len(weight) // n_heads
    d = d_rotary if d_rotary is not None else d_head
    half = d // 2

    def place(row):
        head, channel = divmod(row, d_head)
        if channel >= d:
            return head, channel
        return head, 2 * (channel % half) + channel // half

    return weight[sorted(range(len(weight)), key=place)]
