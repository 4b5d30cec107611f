from course_lib.bank.heads.positional_heads import exercise
from course_lib.bank.prelude import F, Tensor, torch


@exercise.answer
def reference(
    weights: Tensor, lengths: Tensor, share: float = 0.9, max_offset: int = 2
) -> list[int | None]:
    """The offset at which each head nearly always looks most, or None."""
    T = weights.shape[-1]
    places = torch.arange(T)
    real = places < lengths[:, None]
    top = weights.masked_fill(~real[:, None, None], -1).argmax(-1) - places  # (B, H, T)
    found: list[int | None] = []
    for h in range(weights.shape[1]):
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            there = places + offset
            asked = real & (there >= 0) & (there < lengths[:, None])
            hits = (top[:, h] == offset) & asked
            if asked.any() and hits.sum() >= share * asked.sum():
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("A head gives 0.4 to the previous token and less to all others: what is it?")
def by_mass(weights, lengths, share=0.9, max_offset=2):
    """A positional head gives 90 % of its attention to one distance."""
    T = weights.shape[-1]
    places = torch.arange(T)
    found = []
    for h in range(weights.shape[1]):
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            there = places + offset
            asked = (places < lengths[:, None]) & (there >= 0) & (there < lengths[:, None])
            at = there.clamp(0, T - 1).expand(len(weights), T)[..., None]
            mass = weights[:, h].gather(-1, at)
            if mass[..., 0][asked].mean() >= share:
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("In a sentence of 8 tokens, for how many queries is there a key two steps back?")
def edges_counted(weights, lengths, share=0.9, max_offset=2):
    """The share is that of all queries."""
    places = torch.arange(weights.shape[-1])
    top = weights.argmax(-1) - places
    real = places < lengths[:, None]
    found = []
    for h in range(weights.shape[1]):
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            if ((top[:, h] == offset) & real).sum() >= share * real.sum():
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("What do you do with the rows of a sentence that has ended?")
def padding_counted(weights, lengths, share=0.9, max_offset=2):
    """Padding is hidden by the mask, so it need not be looked at again."""
    T = weights.shape[-1]
    places = torch.arange(T)
    top = weights.argmax(-1) - places
    found = []
    for h in range(weights.shape[1]):
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            asked = (places + offset >= 0) & (places + offset < T)
            if (top[:, h] == offset)[:, asked].float().mean() >= share:
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("The previous token is one step to the left. What is its offset here?")
def query_minus_key(weights, lengths, share=0.9, max_offset=2):
    """An offset is how far the query is ahead of the key."""
    places = torch.arange(weights.shape[-1])
    top = places - weights.argmax(-1)
    found = []
    for h in range(weights.shape[1]):
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            there = places - offset
            asked = (places < lengths[:, None]) & (there >= 0) & (there < lengths[:, None])
            if ((top[:, h] == offset) & asked).sum() >= share * asked.sum():
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("What is the mean offset of a head that looks left and right in turn?")
def mean_position(weights, lengths, share=0.9, max_offset=2):
    """Where a head looks on average is where it looks."""
    places = torch.arange(weights.shape[-1])
    real = places < lengths[:, None]
    offsets = (weights * places).sum(-1) - places
    found = []
    for h in range(weights.shape[1]):
        mean = round(offsets[:, h][real].mean().item())
        found.append(mean if abs(mean) <= max_offset else None)
    return found


@exercise.mistake("You average maps before you look at them. Can one sentence hide in that?")
def average_map(weights, lengths, share=0.9, max_offset=2):
    """A head's mean map over the sentences shows what it does in each of them."""
    places = torch.arange(weights.shape[-1])
    real = places < lengths[:, None]
    mean = (weights * real[:, None, :, None]).mean(0)
    longest = int(lengths.max())
    found = []
    for h in range(weights.shape[1]):
        top = mean[h].argmax(-1) - places
        kind = None
        for offset in range(-max_offset, max_offset + 1):
            there = places + offset
            asked = (places < longest) & (there >= 0) & (there < longest)
            if (top == offset)[asked].float().mean() >= share:
                kind = offset
        found.append(kind)
    return found


@exercise.mistake("A head that looks one step back has a diagonal map. Which diagonal?")
def main_diagonal(weights, lengths, share=0.9, max_offset=2):
    """A positional head is one whose map has its weight on the diagonal."""
    places = torch.arange(weights.shape[-1])
    real = places < lengths[:, None]
    found = []
    for h in range(weights.shape[1]):
        hits = weights[:, h].argmax(-1) == places
        found.append(0 if hits[real].float().mean() >= share else None)
    return found


@exercise.alternative
def loops(weights, lengths, share=0.9, max_offset=2):
    """Counts query by query in plain Python, and prints to stderr."""
    import sys

    print("counting", file=sys.stderr)
    found = []
    for h in range(weights.shape[1]):
        kinds = []
        for offset in range(-max_offset, max_offset + 1):
            hits = asked = 0
            for b, length in enumerate(lengths.tolist()):
                for i in range(length):
                    if 0 <= i + offset < length:
                        asked += 1
                        row = weights[b, h, i, :length].tolist()
                        hits += row.index(max(row)) == i + offset
            if asked and hits / asked >= share:
                kinds.append(offset)
        found.append(kinds[-1] if kinds else None)
    return found


@exercise.alternative
def diagonals(weights, lengths, share=0.9, max_offset=2):
    """Marks the largest weight of each row and adds up diagonals of the marks."""
    B, H, T, _ = weights.shape
    inside = torch.arange(T) < lengths.view(-1, 1)
    marks = F.one_hot((weights - 9.0 * ~inside[:, None, None]).argmax(-1), T)
    square = inside[:, :, None] & inside[:, None]
    marks = marks * square[:, None]
    found = [None] * H
    for offset in range(max_offset, -max_offset - 1, -1):
        hits = marks.diagonal(offset, -2, -1).sum((0, 2))
        total = square.diagonal(offset, -2, -1).sum()
        for h in range(H):
            if total > 0 and hits[h] >= share * total:
                found[h] = offset
    return found
