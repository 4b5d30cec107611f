from course_lib.bank.heads.head_contributions import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(heads: Tensor, w_out: Tensor, head_mask: Tensor | None = None) -> Tensor:
    """What each head adds to the output."""
    blocks = w_out.unflatten(0, (heads.shape[1], -1))  # (H, Dh, D)
    parts = heads @ blocks
    return parts if head_mask is None else parts * head_mask[..., None, None]


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
