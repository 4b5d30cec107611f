from course_lib.bank.heads.head_importance import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(contributions: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """By how much the mean squared error rises without one head, and without two."""
    H = contributions.shape[1]
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    pairs = contributions.new_zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = (rest - gone).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Twins a and a: is the error without both twice the error without one?")
def importance_adds_up(contributions, target):
    """Two heads together are worth what they are worth alone, added."""
    out = contributions.sum(1)
    whole = (out - target).square().mean()
    alone = (out[:, None] - contributions - target[:, None]).square().mean((0, 2)) - whole
    pairs = alone[:, None] + alone
    pairs.fill_diagonal_(0)
    return alone, pairs + torch.diag(alone)


@exercise.mistake("You measure how steeply the error rises at first. Is its rise a straight line?")
def slope(contributions, target):
    """The gradient with respect to a head's factor tells what its removal does."""
    rest = contributions.sum(1) - target
    alone = -2 * (rest[:, None] * contributions).mean((0, 2))
    return alone, torch.where(torch.eye(len(alone)).bool(), alone, alone[:, None] + alone)


@exercise.mistake("What is left of a head that you replaced by its mean? Was that asked?")
def replaced_by_mean(contributions, target):
    """A head is removed by putting its mean over the examples in its place."""
    moved = contributions - contributions.mean(0, keepdim=True)
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = moved.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = moved[:, i] + (moved[:, j] if i != j else 0)
            pairs[i, j] = (rest - gone).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("A head without which the error rises: is your number for it above 0?")
def upside_down(contributions, target):
    """Importance is the error with all heads less the error without one."""
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = whole - (rest - gone).square().mean()
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Does anything make the other heads larger when one is taken away?")
def rescaled(contributions, target):
    """The heads that stay are scaled up to make up for those that go, as with dropout."""
    out = contributions.sum(1)
    whole = (out - target).square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            left = (out - gone) * H / max(1, H - len({i, j}))
            pairs[i, j] = (left - target).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Which heads are still there when your error is computed?")
def kept_alone(contributions, target):
    """A head's importance is how well it does by itself."""
    whole = (contributions.sum(1) - target).square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            kept = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = (kept - target).square().mean() - whole
    return pairs.diagonal().clone(), pairs


@exercise.mistake("A large head can be wrong. Where does the target enter your number?")
def size(contributions, target):
    """The larger what a head adds, the more important it is."""
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = gone.square().mean()
    return pairs.diagonal().clone(), pairs


@exercise.mistake("Can a model be better without one of its heads? What would you report then?")
def never_negative(contributions, target):
    """A head may be useless, but it cannot be worth less than nothing."""
    rest = contributions.sum(1) - target
    whole = rest.square().mean()
    H = contributions.shape[1]
    pairs = torch.zeros(H, H)
    for i in range(H):
        for j in range(H):
            gone = contributions[:, i] + (contributions[:, j] if i != j else 0)
            pairs[i, j] = ((rest - gone).square().mean() - whole).clamp(min=0)
    return pairs.diagonal().clone(), pairs


@exercise.alternative
def head_masks(contributions, target):
    """All masks with one or two zeros at once, in one product; warns."""
    import warnings

    warnings.warn("all masks at once", stacklevel=1)
    H = contributions.shape[1]
    eye = torch.eye(H, dtype=contributions.dtype)
    masks = 1 - torch.maximum(eye[:, None], eye[None])  # (H, H, H)
    out = torch.einsum("ijh,nhd->ijnd", masks, contributions)
    pairs = ((out - target) ** 2).mean((-2, -1))
    pairs = pairs - ((contributions.sum(1) - target) ** 2).mean()
    return torch.diagonal(pairs), pairs


@exercise.alternative
def inner_products(contributions, target):
    """No removal at all: the square is multiplied out, and inner products are enough."""
    size = target.numel()
    rest = target - contributions.sum(1)
    gram = torch.einsum("nid,njd->ij", contributions, contributions) / size
    toward = torch.einsum("nid,nd->i", contributions, rest) / size
    alone = gram.diagonal() + 2 * toward
    pairs = alone[:, None] + alone[None] + 2 * gram
    same = torch.eye(len(alone), dtype=torch.bool)
    return alone, torch.where(same, alone.expand_as(pairs), pairs)
