from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.relative.to_interleaved import exercise
from course_lib.positions import convert_rotary_layout


@exercise.answer
def reference(weight: Tensor, n_heads: int, d_rotary: int | None = None) -> Tensor:
    """The library's reordering of rows, from half-split to interleaved."""
    return convert_rotary_layout(weight, n_heads, to="interleaved", d_rotary=d_rotary)


@exercise.mistake("Convert 0, 1, 2, 3, 4, 5 and look: where have 0 and 3 gone?")
def the_other_way(weight, n_heads, d_rotary=None):
    """The same reordering converts in either direction."""
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


@exercise.mistake("Which axis of an `nn.Linear`'s weight holds the channels that it makes?")
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
