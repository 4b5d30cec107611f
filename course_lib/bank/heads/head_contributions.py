"""Exercise ``heads.head_contributions``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(heads: Tensor, w_out: Tensor, head_mask: Tensor | None = None) -> Tensor:
    """What each head adds to the output."""
    blocks = w_out.unflatten(0, (heads.shape[1], -1))  # (H, Dh, D)
    parts = heads @ blocks
    return parts if head_mask is None else parts * head_mask[..., None, None]


exercise = Exercise(
    id="heads.head_contributions",
    function="head_contributions",
    reference=reference,
    points=4,
    minutes=15,
    difficulty=2,
    chapter="04_heads.html#heads-sum",
    outcomes=("heads.importance",),
    example=lambda t: (t.randn(2, 2, 3, 2), t.randn(4, 4)),
)


@exercise.prop(
    "what each head adds, for any number of heads",
    points=1,
    hint="Merge two heads of width 1 by hand, multiply by a matrix with two rows, and sort the"
    " terms by head.",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, 3, 4, 2), t.randn(6, 6))
    t.same(t.randn(1, 2, t.integer(2, 5), 4), t.randn(8, 8))


@exercise.prop(
    "the contributions of all heads add up to the output of the layer",
    points=0.5,
    hint="Compare with the heads side by side, times w_out.",
)
def adds_up(t: Trial) -> None:
    heads, w_out = t.randn(2, 4, 3, 3), t.randn(12, 12)
    parts = t.a_tensor(t.call(heads, w_out), (2, 4, 3, 12))
    t.close(parts.sum(1), heads.transpose(1, 2).flatten(2) @ w_out, "their sum")
    moved = heads.clone()
    h = t.integer(0, 3)
    moved[:, h] += 1 + t.randn(2, 3, 3).abs()
    changed = t.a_tensor(t.call(moved, w_out), (2, 4, 3, 12)).sub(parts).abs().amax((0, 2, 3))
    t.expect(
        [bool(c > 1e-4) for c in changed] == [n == h for n in range(4)],
        f"head {h} alone was changed, but not its contribution alone changes",
    )


@exercise.prop(
    "a head mask (H,) multiplies each contribution by its factor",
    points=0.5,
    hint="A factor need not be 0 or 1, and it says nothing about the other heads.",
)
def head_mask(t: Trial) -> None:
    # Against the answer's own contributions: whether these are right is asked above.
    factors = torch.tensor([0.0, 1.0, 0.5])[t.permutation(3)]
    heads, w_out = t.randn(2, 3, 4, 2), t.randn(6, 6)
    whole = t.a_tensor(t.call(heads, w_out), (2, 3, 4, 6))
    t.expect((whole != 0).any(), "no head adds anything")
    t.close(t.call(heads, w_out, factors), whole * factors[:, None, None])


@exercise.prop(
    "a head mask (B, H) has factors for each sentence",
    points=0.5,
    hint="Line the axes up: (B, H) beside (B, H, T, D).",
)
def head_mask_of_sentences(t: Trial) -> None:
    factors = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 0.25], [1.0, 1.0, 0.0]])[t.permutation(3)]
    heads, w_out = t.randn(3, 3, 3, 2), t.randn(6, 6)
    whole = t.a_tensor(t.call(heads, w_out), (3, 3, 3, 6))
    t.expect((whole != 0).any(), "no head adds anything")
    t.close(t.call(heads, w_out, factors), whole * factors[..., None, None])


@exercise.prop(
    "the output may be wider or narrower than the heads together",
    points=1,
    hint="Which axis of w_out meets the heads? Only that one is cut.",
)
def oblong(t: Trial) -> None:
    heads, w_out = t.randn(2, 3, 4, 2), t.randn(6, t.integer(7, 10))
    whole = t.a_tensor(t.call(heads, w_out), (2, 3, 4, w_out.shape[1]))
    t.expect((whole != 0).any(), "no head adds anything")
    for width in (3, 1):
        narrow = t.a_tensor(t.call(heads, w_out[:, :width]), (2, 3, 4, width))
        t.close(narrow, whole[..., :width], f"an output of width {width}")


@exercise.prop(
    "gradients reach the heads, the projection and the mask",
    points=0.5,
    hint="Is anything detached, compared with a number, or computed under no_grad?",
)
def gradients(t: Trial) -> None:
    f64 = torch.float64
    t.gradient(t.randn(2, 2, 2, 2, dtype=f64), t.randn(4, 4, dtype=f64), t.randn(2, dtype=f64))


@exercise.mistake("Does head 1 really meet the rows of w_out that head 0 meets?")
def first_block(heads, w_out, head_mask=None):
    """Heads are as wide as each other, so all use the same rows of the output projection."""
    parts = heads @ w_out[: heads.shape[-1]]
    return parts if head_mask is None else parts * head_mask[..., None, None]


@exercise.mistake("In `merged @ w_out`, does a channel of a head meet a row or a column of w_out?")
def block_of_columns(heads, w_out, head_mask=None):
    """A head owns columns of the output projection, as it does of the other three."""
    width = heads.shape[-1]
    blocks = torch.stack([w_out[:, h * width : (h + 1) * width].T for h in range(heads.shape[1])])
    parts = heads @ blocks
    return parts if head_mask is None else parts * head_mask[..., None, None]


@exercise.mistake("Silence one head: does your contribution of the others change?")
def equal_shares(heads, w_out, head_mask=None):
    """The output projection mixes the heads, so each has an equal share in the output."""
    H = heads.shape[1]
    out = heads.transpose(1, 2).flatten(2) @ w_out / H
    parts = out[:, None].expand(-1, H, -1, -1)
    return parts if head_mask is None else parts * head_mask[..., None, None]


@exercise.mistake("Add your contributions up. Is the sum the output, or several times as much?")
def what_is_left(heads, w_out, head_mask=None):
    """What a head is worth is the output that the others give without it."""
    blocks = w_out.unflatten(0, (heads.shape[1], -1))
    parts = heads @ blocks
    if head_mask is not None:
        parts = parts * head_mask[..., None, None]
    return parts.sum(1, keepdim=True) - parts


@exercise.mistake("Which rows of w_out belong to head 0: the first ones, or every H-th?")
def dealt_out(heads, w_out, head_mask=None):
    """Rows of the output projection are dealt out to the heads in turn."""
    H = heads.shape[1]
    parts = torch.stack([heads[:, h] @ w_out[h::H] for h in range(H)], dim=1)
    return parts if head_mask is None else parts * head_mask[..., None, None]


@exercise.mistake("A head is silenced. Should what the others add change at all?")
def rescaled(heads, w_out, head_mask=None):
    """When heads are silenced the others are scaled up to make up for them, as with dropout."""
    parts = heads @ w_out.unflatten(0, (heads.shape[1], -1))
    if head_mask is None:
        return parts
    factors = head_mask * heads.shape[1] / head_mask.sum(-1, keepdim=True)
    return parts * factors[..., None, None]


@exercise.mistake("What should a factor of one half do?")
def on_or_off(heads, w_out, head_mask=None):
    """A mask says yes or no."""
    parts = heads @ w_out.unflatten(0, (heads.shape[1], -1))
    if head_mask is None:
        return parts
    return torch.where(head_mask[..., None, None] != 0, parts, torch.zeros_like(parts))


@exercise.mistake("Two sentences may silence different heads. Do they, in your version?")
def one_mask_for_all(heads, w_out, head_mask=None):
    """A head is on or off for the whole batch."""
    parts = heads @ w_out.unflatten(0, (heads.shape[1], -1))
    if head_mask is None:
        return parts
    return parts * head_mask.reshape(-1, heads.shape[1])[0][:, None, None]


@exercise.alternative
def all_others_silenced(heads, w_out, head_mask=None):
    """Merges with all heads but one set to 0, for each of them in turn; warns."""
    import warnings

    warnings.warn("one head at a time", stacklevel=1)
    parts = []
    for h in range(heads.shape[1]):
        alone = torch.zeros_like(heads)
        factor = 1.0 if head_mask is None else head_mask[..., h : h + 1, None]
        alone[:, h] = heads[:, h] * factor
        parts.append(alone.transpose(1, 2).flatten(2) @ w_out)
    return torch.stack(parts, dim=1)


@exercise.alternative
def einstein(heads, w_out, head_mask=None):
    """One Einstein sum; the mask multiplies what goes in."""
    B, H, T, width = heads.shape
    if head_mask is not None:
        heads = heads * head_mask.expand(B, H).view(B, H, 1, 1)
    return torch.einsum("bhtd,hdm->bhtm", heads, w_out.view(H, width, -1))
