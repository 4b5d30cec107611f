"""What follows from sinusoidal positions: their wavelengths, their shifts, their distances."""

import torch
from torch import Tensor

from course_lib.positions.rotary import rotary_frequencies


def wavelengths(d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Say after how many positions each sine-cosine pair of a code begins again.

    They grow by the same factor from pair to pair, from ``2 pi`` to ``2 pi base^((D - 2) / D)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.5, which rounds the last
    one up to ``2 pi base``.

    Args:
        d_model: Width D, even.
        base: As in :func:`~course_lib.positions.sinusoidal.sinusoidal_encoding`.

    Returns:
        ``(D / 2,)``, float64.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        >>> wavelengths(8)
        tensor([   6.2832,   62.8319,  628.3185, 6283.1853], dtype=torch.float64)
    """
    return 2 * torch.pi / rotary_frequencies(d_model, base=base)


def shift_matrix(shift: float, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Build the matrix that turns the code of any position into the code ``shift`` further on.

    Moving on by s turns pair i by the angle ``s base^(-2i/D)``, wherever it stands. So the matrix
    is made of 2 x 2 rotations along its diagonal, and its transpose leads back.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.5, names the property.

    Args:
        shift: How many positions further; may be negative, and need not be whole.
        d_model: Width D, even.
        base: As in :func:`~course_lib.positions.sinusoidal.sinusoidal_encoding`.

    Returns:
        ``(D, D)``, float64, to be multiplied from the left with a code ``(D,)``.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        >>> from course_lib.positions.sinusoidal import sinusoidal_encoding
        >>> codes = sinusoidal_encoding(torch.tensor([[5.0, 8.0], [105.0, 108.0]]).double(), 64)
        >>> moved = codes[:, 0] @ shift_matrix(3, 64).T
        >>> torch.allclose(moved, codes[:, 1])
        True
    """
    angles = shift * rotary_frequencies(d_model, base=base)
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2)))


def code_similarity(distance: Tensor, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Compute the inner product of two codes from the distance of their positions alone.

    ``sin a sin b + cos a cos b = cos(a - b)``, so it is the sum of ``cos(k base^(-2i/D))`` over
    the pairs i for a distance k. It is largest at 0, where it is D / 2, and does not fall all the
    way from there.

    Args:
        distance: Differences of positions, of any shape ``(...)``.
        d_model: Width D, even.
        base: As in :func:`~course_lib.positions.sinusoidal.sinusoidal_encoding`.

    Returns:
        ``(...)``, float64.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        Positions that are further apart can be more alike.

        >>> code_similarity(torch.tensor([0, 3, 6]), 4)
        tensor([2.0000, 0.0096, 1.9584], dtype=torch.float64)
    """
    angles = distance[..., None].double() * rotary_frequencies(
        d_model, base=base, device=distance.device
    )
    return angles.cos().sum(dim=-1)
