"""Learning from pairs: the right caption must be nearer than the wrong ones."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Temperature(nn.Module):
    """A learned factor on similarities, kept below a ceiling.

    Cosines lie in [-1, 1], so without a factor the softmax over N pairs could never get close to
    one-hot. The logarithm is what is learned, which keeps the factor positive.

    Source: Radford et al., Learning Transferable Visual Models From Natural Language Supervision
    (2021), section 2.5: ``1 / 0.07`` at the start, at most 100.

    Args:
        start: The factor before training.
        ceiling: The largest factor.

    Raises:
        ValueError: If not ``0 < start <= ceiling``.

    Example:
        >>> temperature = Temperature()
        >>> round(temperature().item(), 2)
        14.29
        >>> with torch.no_grad():
        ...     _ = temperature.log_factor.fill_(50.0)
        >>> round(temperature().item(), 2)
        100.0
    """

    def __init__(self, start: float = 1 / 0.07, ceiling: float = 100.0) -> None:
        super().__init__()
        if not 0 < start <= ceiling:
            raise ValueError(f"start is {start}, wanted above 0 and at most the ceiling {ceiling}")
        self.ceiling = ceiling
        self.log_factor = nn.Parameter(torch.tensor(math.log(start)))

    @torch.no_grad()
    def clamp_(self) -> None:
        """Bring the weight itself back under the ceiling, to be called after each step.

        Above the ceiling the factor is constant and its gradient 0: without this the weight would
        be stuck there.
        """
        self.log_factor.clamp_(max=math.log(self.ceiling))

    def forward(self) -> Tensor:
        """The factor.

        Returns:
            A scalar, at most ``ceiling``.
        """
        return self.log_factor.clamp(max=math.log(self.ceiling)).exp()


def pair_similarities(images: Tensor, texts: Tensor, factor: Tensor | float = 1.0) -> Tensor:
    """Compare every image with every text: cosines times a factor.

    Args:
        images: Embeddings ``(N, D)`` of any length.
        texts: Embeddings ``(M, D)``.
        factor: Inverse temperature, a scalar.

    Returns:
        ``(N, M)``: row i holds the similarities of image i.

    Raises:
        ValueError: If the embeddings are not two matrices of the same width.

    Example:
        Only directions count.

        >>> images = torch.tensor([[2.0, 0.0], [0.0, 0.5]])
        >>> pair_similarities(images, torch.tensor([[9.0, 0.0], [1.0, 1.0]]))
        tensor([[1.0000, 0.7071],
                [0.0000, 0.7071]])
    """
    if images.ndim != 2 or texts.ndim != 2 or images.shape[1] != texts.shape[1]:
        raise ValueError(
            f"images have shape {tuple(images.shape)} and texts {tuple(texts.shape)}, wanted "
            "(N, D) and (M, D)"
        )
    return factor * (F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T)


def contrastive_loss(similarities: Tensor) -> Tensor:
    """Ask of each image which text is its own, and of each text which image: InfoNCE both ways.

    ``(CE(s, diagonal) + CE(s^T, diagonal)) / 2`` for a batch of N pairs whose other N - 1 members
    serve as wrong answers. The loss of knowing nothing is ``ln N``: losses of batches of different
    sizes cannot be compared.

    Source: van den Oord et al., Representation Learning with Contrastive Predictive Coding (2018),
    equation 4; both ways as in Radford et al. (2021), figure 3.

    Args:
        similarities: ``(N, N)``, pairs on the diagonal, as from :func:`pair_similarities`.

    Returns:
        The mean loss, a scalar.

    Raises:
        ValueError: If the similarities are not a square matrix.

    Example:
        >>> round(contrastive_loss(torch.zeros(8, 8)).item(), 4), round(math.log(8), 4)
        (2.0794, 2.0794)
        >>> contrastive_loss(50 * torch.eye(8)).item() < 1e-6
        True
    """
    if similarities.ndim != 2 or similarities.shape[0] != similarities.shape[1]:
        raise ValueError(f"similarities have shape {tuple(similarities.shape)}, wanted (N, N)")
    own = torch.arange(len(similarities), device=similarities.device)
    return (F.cross_entropy(similarities, own) + F.cross_entropy(similarities.T, own)) / 2


def retrieval_accuracy(similarities: Tensor, k: int = 1) -> float:
    """Share of rows whose own column is among the k largest.

    Ties count against the row, so that an encoder that says the same of everything gets 0, and so
    does NaN.

    Args:
        similarities: ``(N, N)``, pairs on the diagonal; transpose for the other direction.
        k: How many answers are allowed.

    Returns:
        A number between 0 and 1.

    Raises:
        ValueError: If the similarities are not a square matrix or k is not in 1 .. N.

    Example:
        >>> s = torch.tensor([[3.0, 1.0, 2.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
        >>> round(retrieval_accuracy(s), 2), retrieval_accuracy(s, k=2)
        (0.67, 1.0)
    """
    if similarities.ndim != 2 or similarities.shape[0] != similarities.shape[1]:
        raise ValueError(f"similarities have shape {tuple(similarities.shape)}, wanted (N, N)")
    if not 1 <= k <= len(similarities):
        raise ValueError(f"k is {k}, wanted 1 to {len(similarities)}")
    own = similarities.diagonal()[:, None]
    rank = (~(similarities < own)).sum(dim=1)
    return (rank <= k).float().mean().item()
