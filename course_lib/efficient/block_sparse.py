"""BigBird: whole blocks of keys, some near, some seen by all, some drawn at random."""

import torch
from torch import Generator, Tensor

from course_lib.attention import check_attention, fused_attention, scaled_dot_product_attention
from course_lib.efficient.keys import expand_key_mask
from course_lib.masks.softmax import certain
from course_lib.positions.heads import HeadProjections


def random_blocks(
    n_blocks: int, n_random: int, *, n_heads: int = 1, generator: Generator | None = None
) -> Tensor:
    """Draw for each inner block r blocks that it does not see anyway: ``(H, n - 2, r)``.

    All are equally likely, r is at most ``n - 5``, and the indices ascend.

    >>> random_blocks(8, 2, generator=torch.Generator().manual_seed(0))[0, 0]  # sees 0, 1, 2, 7
    tensor([5, 6])
    """
    if n_blocks < 4 or not 0 <= n_random <= max(n_blocks - 5, 0):
        raise ValueError(
            f"n_blocks is {n_blocks} and n_random {n_random}, wanted at least 4 blocks, and at "
            "least 5 more than are drawn"
        )
    seen = _fixed_layout(n_blocks)[1:-1]
    draws = torch.rand(n_heads, n_blocks - 2, n_blocks, generator=generator)
    return draws.masked_fill(seen, -1.0).topk(n_random, dim=-1).indices.sort(dim=-1).values


def block_layout(blocks: Tensor) -> Tensor:
    """Blocks of keys that each block of queries sees, ``(H, n, n)``, given what was drawn.

    >>> blocks = random_blocks(7, 1, generator=torch.Generator().manual_seed(0))
    >>> block_layout(blocks)[0].int()
    tensor([[1, 1, 1, 1, 1, 1, 1],
            [1, 1, 1, 0, 0, 1, 1],
            [1, 1, 1, 1, 1, 0, 1],
            [1, 1, 1, 1, 1, 0, 1],
            [1, 0, 1, 1, 1, 1, 1],
            [1, 0, 0, 1, 1, 1, 1],
            [1, 1, 1, 1, 1, 1, 1]], dtype=torch.int32)
    """
    _check_blocks(blocks)
    n = blocks.shape[1] + 2
    layout = _fixed_layout(n).to(blocks.device).repeat(len(blocks), 1, 1)
    layout[:, 1:-1].scatter_(-1, blocks, True)
    return layout


def layout_mask(layout: Tensor, block_size: int) -> Tensor:
    """The mask ``(..., n * b, n * b)`` of positions that a layout ``(..., n, n)`` stands for."""
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}, wanted at least 1")
    return layout.repeat_interleave(block_size, -1).repeat_interleave(block_size, -2)


def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    blocks: Tensor,
    key_mask: Tensor | None = None,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention under the mask that the blocks stand for, with all ``T * T`` scores.

    Returns the output ``(B, H, T, Dv)`` and the weights ``(B, H, T, T)``. The number n of blocks
    divides T; ``blocks`` are ``(H, n - 2, r)``, or ``(1, n - 2, r)`` for all heads.

    Source: Zaheer et al., Big Bird: Transformers for Longer Sequences (2020), section 2.
    """
    size = _check(q, k, v, blocks)
    visible = layout_mask(block_layout(blocks), size)[None]
    if key_mask is not None:
        visible = visible & expand_key_mask(key_mask, len(q), k.shape[-2], q.device).transpose(
            -2, -1
        )
    return scaled_dot_product_attention(q, k, v, visible, scale=scale)


def fused_block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    blocks: Tensor,
    key_mask: Tensor | None = None,
    *,
    scale: float | None = None,
) -> Tensor:
    """Compute :func:`block_sparse_attention` from the visible blocks alone.

    Blocks that see equally many blocks are computed together: the two global ones, the two beside
    them, whose window touches a global one, and all others. No block may be drawn that is seen
    anyway: its keys would count twice. Arguments as for :func:`block_sparse_attention`.
    """
    size = _check(q, k, v, blocks)
    # A compiler can't follow a decision that depends on what a tensor holds.
    if not torch.compiler.is_compiling():
        _check_drawn(blocks)
    B, H, T = q.shape[:3]
    n = T // size
    keep = None if key_mask is None else expand_key_mask(key_mask, B, T, q.device).transpose(-2, -1)
    ends = torch.cat([q[:, :, :size], q[:, :, -size:]], dim=2)
    ends = fused_attention(ends, k, v, keep, scale=scale)

    def attend(rows: Tensor, table: Tensor) -> Tensor:
        """Rows of blocks ``(B, H, R, b, Dh)`` to the blocks in their rows of ``(H, R, K)``."""
        # Rows lie beside the heads, so that the kernel sees R times as many small problems.
        visible = None
        if keep is not None:
            by_block = keep.expand(B, H, 1, T).reshape(B, H, n, size)
            visible = _gather(by_block, table).unsqueeze(2)
        keys, values = (_gather(x.unflatten(2, (n, size)), table) for x in (k, v))
        out = fused_attention(rows.flatten(1, 2), keys, values, visible, scale=scale)
        return out.unflatten(1, (H, -1)).flatten(2, 3)

    q_blocks = q.unflatten(2, (n, size))
    blocks = blocks.expand(H, -1, -1)
    inner = torch.arange(1, n - 1, device=q.device)
    # The window of block 1 starts at the first block, that of block n - 2 ends at the last.
    outer = torch.tensor([[0, 1, 2, n - 1], [0, n - 3, n - 2, n - 1]], device=q.device)
    outer = torch.cat([outer.expand(H, 2, 4), blocks[:, [0, -1]]], dim=-1)
    beside = attend(q_blocks[:, :, [1, n - 2]], outer)
    parts = [ends[:, :, :size], beside[:, :, :size], beside[:, :, size:], ends[:, :, size:]]
    if n > 4:
        middle = inner[1:-1, None]
        window = torch.cat([0 * middle, middle - 1, middle, middle + 1, 0 * middle + n - 1], dim=-1)
        table = torch.cat([window.expand(H, -1, -1), blocks[:, 1:-1]], dim=-1)
        parts.insert(2, attend(q_blocks[:, :, 2:-2], table))
    return torch.cat(parts, dim=2)


def _gather(x: Tensor, table: Tensor) -> Tensor:
    """From ``(B, H, n, b, ...)`` the blocks ``(H, R, K)``, as ``(B, H * R, K * b, ...)``."""
    B, H, n = x.shape[:3]
    # One index over batch, heads and blocks: whole blocks are copied, and added up going back.
    first = torch.arange(B * H, device=x.device).view(B, H, 1, 1) * n
    found = x.reshape(B * H * n, *x.shape[3:]).index_select(0, (first + table).flatten())
    return found.view(B, H * table.shape[1], table.shape[2] * x.shape[3], *x.shape[4:])


def _fixed_layout(n_blocks: int) -> Tensor:
    block = torch.arange(n_blocks)
    is_end = (block == 0) | (block == n_blocks - 1)
    near = (block[:, None] - block).abs() <= 1
    return near | is_end | is_end[:, None]


def _check_blocks(blocks: Tensor) -> None:
    if blocks.ndim != 3 or blocks.is_floating_point() or blocks.shape[1] < 2:
        raise ValueError(
            f"blocks have shape {tuple(blocks.shape)} and dtype {blocks.dtype}, wanted integers "
            "(H, n - 2, r) with n at least 4"
        )
    if certain(((blocks < 0) | (blocks >= blocks.shape[1] + 2)).any()):
        low, high = (int(number) for number in blocks.aminmax())
        raise ValueError(
            f"blocks are numbers from {low} to {high}, wanted 0 to {blocks.shape[1] + 1}"
        )


def _check_drawn(blocks: Tensor) -> None:
    n = blocks.shape[1] + 2
    drawn = _fixed_layout(n).to(blocks.device)[1:-1].long().repeat(len(blocks), 1, 1)
    drawn.scatter_add_(-1, blocks, torch.ones_like(blocks))
    if certain((drawn > 1).any()):
        head, row, block = (drawn > 1).nonzero()[0].tolist()
        raise ValueError(
            f"block {row + 1} of head {head} would see block {block} twice, wanted drawn blocks "
            "that differ and are not seen anyway"
        )


def _check(q: Tensor, k: Tensor, v: Tensor, blocks: Tensor) -> int:
    """The block size, if everything fits together."""
    _check_blocks(blocks)
    check_attention(q, k, v, n_axes=4, aligned=True)
    if blocks.device != q.device:
        raise ValueError(f"blocks are on {blocks.device}, wanted {q.device}, where q is")
    n = blocks.shape[1] + 2
    if len(blocks) not in (1, q.shape[1]) or q.shape[2] < 1 or q.shape[2] % n:
        raise ValueError(
            f"blocks {tuple(blocks.shape)} are for {len(blocks)} heads and {n} blocks, but q has "
            f"{q.shape[1]} heads and length {q.shape[2]}; wanted as many heads, or one for all, "
            "and a multiple of the number of blocks"
        )
    return q.shape[2] // n


class BlockSparseAttention(HeadProjections):
    """Multi-head self-attention by blocks, with drawn blocks that are saved with the weights.

    The sequence is cut into n blocks. The first and the last are global: they see everything and
    are seen by all. Every other block sees itself, its two neighbours, the global ones and r blocks
    drawn once and for all, so any two positions are two steps apart at most, at a cost that grows
    with T. Blocks, not single positions, because memory is read in runs.

    Source: Zaheer et al. (2020), section 2.

    Args:
        length: Length T of every input; pad shorter ones and mask the padding.
        block_size: Positions of a block, which divides the length.
        n_random: Number r of blocks drawn for each block and head.
    """

    blocks: Tensor

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        length: int,
        block_size: int = 64,
        n_random: int = 3,
        bias: bool = True,
        generator: Generator | None = None,
        fused: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, fused=fused)
        if block_size < 1 or length % block_size:
            raise ValueError(f"block_size is {block_size}, wanted a divisor of length {length}")
        self.length = length
        drawn = random_blocks(length // block_size, n_random, n_heads=n_heads, generator=generator)
        self.register_buffer("blocks", drawn)

    def forward(
        self, x: Tensor, *, key_mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend within x ``(B, T, D)``, T being the length given at first: ``(B, T, D)``."""
        if x.ndim != 3 or x.shape[1:] != (self.length, self.d_model):
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B, {self.length}, {self.d_model})"
            )
        q, k, v = self.project(x)
        if self.fused and not return_weights:
            heads = fused_block_sparse_attention(q, k, v, self.blocks, key_mask)
            return self.merge(heads)
        heads, weights = block_sparse_attention(q, k, v, self.blocks, key_mask)
        out = self.merge(heads)
        return (out, weights) if return_weights else out


def strided_mask(T: int, stride: int, *, device: torch.device | None = None) -> Tensor:
    """The last l positions, ``(T, T)``, and every l-th before them; l is the stride.

    Source: Child et al., Generating Long Sequences with Sparse Transformers (2019), section 4:
    the union of ``A1 = {max(0, i - l), ..., i}`` and ``A2 = {j <= i : (i - j) mod l = 0}``.

    >>> strided_mask(7, stride=2).int()[-1].tolist()
    [1, 0, 1, 0, 1, 1, 1]
    """
    if stride < 1:
        raise ValueError(f"stride is {stride}, wanted at least 1")
    position = torch.arange(T, device=device)
    back = position[:, None] - position
    return (back >= 0) & ((back <= stride) | (back % stride == 0))
