from itertools import combinations

from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.reading.spare_heads import exercise


@exercise.answer
def reference(losses: Tensor, n_spare: int) -> tuple[Tensor, Tensor, list[int]]:
    """Worth alone, what pairs are worth beyond their sum, and the heads that are best removed."""
    H = losses.ndim

    def without(*heads: int) -> Tensor:
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    whole = without()
    alone = torch.stack([without(h) - whole for h in range(H)])
    excess = losses.new_zeros(H, H)
    for i, j in combinations(range(H), 2):
        excess[i, j] = excess[j, i] = without(i, j) - whole - alone[i] - alone[j]
    best = min(combinations(range(H), n_spare), key=lambda heads: float(without(*heads)))
    return alone, excess, list(best)


@exercise.mistake("Twins: each can be spared. Both?")
def least_worth_first(losses, n_spare):
    """The heads that are worth least alone can be removed together."""
    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    return alone, excess, sorted(alone.argsort()[:n_spare].tolist())


@exercise.mistake("You never take back a choice. Must the cheapest pair contain the cheapest head?")
def one_after_another(losses, n_spare):
    """Removing the cheapest head again and again ends at the cheapest set."""
    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    gone = []
    for _ in range(n_spare):
        rest = [h for h in range(H) if h not in gone]
        gone.append(min(rest, key=lambda h: float(without(*gone, h))))
    return alone, excess, sorted(gone)


@exercise.mistake("You compare with a layer without any heads. With what should you?")
def added_to_nothing(losses, n_spare):
    """A head's worth is what it achieves when all others are silent."""
    from itertools import combinations

    H = losses.ndim

    def only(*heads):
        return losses[tuple(1 if h in heads else 0 for h in range(H))]

    alone = torch.stack([only() - only(h) for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = only() - only(i, j) - alone[i] - alone[j]
    everything = set(range(H))
    best = min(combinations(range(H), n_spare), key=lambda g: float(only(*(everything - set(g)))))
    return alone, excess, list(best)


def right(losses, n_spare):
    """Base of the mistakes, itself right."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([without(h) - without() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = without(i, j) - without() - alone[i] - alone[j]
    best = min(combinations(range(H), n_spare), key=lambda g: float(without(*g)))
    return alone, excess, list(best)


@exercise.mistake("Index 1 means at work. Which entry is the whole layer?")
@changed(right, ("(0 if h", "(1 if h"), ("1 for h", "0 for h"))
def ones_are_silent():
    """An index of 1 silences a head."""


@exercise.mistake("Your table says what a pair is worth. Which part of that is excess?")
@changed(right, (") - alone[i] - alone[j]", ")"))
def pairs_themselves():
    """How a pair interacts is how much is lost without both."""


@exercise.mistake(
    "Twins: together they are worth more than apart. Is your number for them above 0?"
)
@changed(right, ("i, j] =", "i, j] = alone[i] + alone[j] - ("), ("- alone[i] - alone[j]", ")"))
def savings():
    """A pair's excess is what its heads are worth alone, less what they are worth together."""


@exercise.mistake("If removing a head helps, is it worth more than 0?")
def size_of_change(losses, n_spare):
    """A head matters as much as the loss moves without it, up or down."""
    from itertools import combinations

    H = losses.ndim

    def without(*heads):
        return losses[tuple(0 if h in heads else 1 for h in range(H))]

    alone = torch.stack([(without(h) - without()).abs() for h in range(H)])
    excess = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            if i != j:
                excess[i, j] = (without(i, j) - without()).abs() - alone[i] - alone[j]
    best = min(
        combinations(range(H), n_spare), key=lambda g: float((without(*g) - without()).abs())
    )
    return alone, excess, list(best)


@exercise.alternative
def by_binary_numbers(losses, n_spare):
    """Reads the table as a list whose places are binary numbers; prints to stderr."""
    import sys

    H = losses.dim()
    flat = losses.reshape(-1)
    full = 2**H - 1
    print("binary", file=sys.stderr)
    bit = [1 << (H - 1 - h) for h in range(H)]
    gain = flat - flat[full]
    alone = gain[torch.tensor([full ^ b for b in bit])]
    both = gain[torch.tensor([[full ^ (a | b) for b in bit] for a in bit])]
    excess = (both - alone.unsqueeze(0) - alone.unsqueeze(1)).fill_diagonal_(0)
    sets = [n for n in range(2**H) if (full ^ n).bit_count() == n_spare]
    best = sets[int(flat[torch.tensor(sets)].argmin())]
    return alone, excess, [h for h in range(H) if not best & bit[h]]


@exercise.alternative
def by_selecting_axes(losses, n_spare):
    """Takes axes out of the table one by one."""
    H = losses.dim()

    def loss(gone):
        table = losses
        for h in reversed(range(H)):
            table = table.select(h, 0 if h in gone else 1)
        return table

    alone = torch.stack([loss({h}) for h in range(H)]) - loss(set())
    pairs = torch.stack([torch.stack([loss({i, j}) for j in range(H)]) for i in range(H)])
    excess = pairs - loss(set()) - alone[:, None] - alone[None, :]
    excess = excess * (1 - torch.eye(H))
    found = [set()]
    for _ in range(n_spare):
        found = [s | {h} for s in found for h in range(H) if not s or h > max(s)]
    return alone, excess, sorted(min(found, key=lambda s: loss(s).item()))
