"""Learning from pairs: the right caption must be nearer than the wrong ones."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Temperature(nn.Module):
    """A learned factor on similarities, at most ``ceiling``: a scalar.

    Cosines lie in [-1, 1]: without a factor the softmax over N pairs could not get close to
    one-hot. The logarithm is learned, which keeps the factor positive. Source: Radford et al.,
    Learning Transferable Visual Models From Natural Language Supervision (2021), section 2.5.
    """

    def __init__(self, start: float = 1 / 0.07, ceiling: float = 100.0) -> None:
        super().__init__()
        if not 0 < start <= ceiling:
            raise ValueError(f"start is {start}, wanted above 0 and at most the ceiling {ceiling}")
        self.ceiling = ceiling
        self.log_factor = nn.Parameter(torch.tensor(math.log(start)))

    @torch.no_grad()
    def clamp_(self) -> None:
        """Bring the weight itself back after each step: above the ceiling its gradient is 0."""
        self.log_factor.clamp_(max=math.log(self.ceiling))

    def forward(self) -> Tensor:
        """The factor, at most ``ceiling``."""
        return self.log_factor.clamp(max=math.log(self.ceiling)).exp()


def pair_similarities(images: Tensor, texts: Tensor, factor: Tensor | float = 1.0) -> Tensor:
    """Cosines of images ``(N, D)`` and texts ``(M, D)`` times a factor, ``(N, M)``."""
    if images.ndim != 2 or texts.ndim != 2 or images.shape[1] != texts.shape[1]:
        raise ValueError(
            f"images have shape {tuple(images.shape)} and texts {tuple(texts.shape)}, wanted "
            "(N, D) and (M, D)"
        )
    return factor * (F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T)


def contrastive_loss(similarities: Tensor) -> Tensor:
    """Ask of each image which text is its own, and of each text which image: InfoNCE both ways.

    ``(CE(s, diagonal) + CE(s^T, diagonal)) / 2`` of similarities ``(N, N)`` with the pairs on the
    diagonal. Knowing nothing costs ``ln N``: batches of different sizes cannot be compared. Source:
    van den Oord et al., Representation Learning with Contrastive Predictive Coding (2018), equation
    4; both ways as in Radford et al. (2021), figure 3.
    """
    if similarities.ndim != 2 or similarities.shape[0] != similarities.shape[1]:
        raise ValueError(f"similarities have shape {tuple(similarities.shape)}, wanted (N, N)")
    own = torch.arange(len(similarities), device=similarities.device)
    return (F.cross_entropy(similarities, own) + F.cross_entropy(similarities.T, own)) / 2


def retrieval_accuracy(similarities: Tensor, k: int = 1) -> float:
    """Share of rows of ``(N, N)`` whose own column, on the diagonal, is among the k largest.

    Ties count against the row, and so does NaN: an encoder that says the same of everything gets 0.
    """
    if similarities.ndim != 2 or similarities.shape[0] != similarities.shape[1]:
        raise ValueError(f"similarities have shape {tuple(similarities.shape)}, wanted (N, N)")
    if not 1 <= k <= len(similarities):
        raise ValueError(f"k is {k}, wanted 1 to {len(similarities)}")
    own = similarities.diagonal()[:, None]
    rank = (~(similarities < own)).sum(dim=1)
    return (rank <= k).float().mean().item()
