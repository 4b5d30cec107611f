"""Five ways to make one window of many, and how the official release does it."""

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

Operator = Literal["pointwise", "linear", "mean", "max", "prob_sparse"]


class CrossWindow(nn.Module):
    """Fuse all windows into one, place by place: ``(B, H, L, nW, c)`` to ``(B, H, L, c)``.

    ================  ==============================================================  ==============
    operator          what stands at a place of the fused window                      weights
    ================  ==============================================================  ==============
    ``pointwise``     a linear map of the channels of all windows there: a 1 x 1      ``nW c^2 + c``
                      convolution whose input channels are windows times channels
    ``linear``        a weighted sum of the windows, the same for each channel        ``nW + 1``
    ``mean``          the average of the windows                                      0
    ``max``           the largest value of each channel in any window                 0
    ``prob_sparse``   nothing fused: the L samples that informative queries like      0
                      best stay, wherever they come from (:func:`informative_keys`)
    ================  ==============================================================  ==============

    Those with weights begin as the mean and fix the number of windows. With one window, ``mean``,
    ``max`` and ``prob_sparse`` return it as it is. With ``pool_channels`` the mean is
    :func:`average_neighbouring_channels`, as in the official release.

    Source: the ablation report, section 1, table 1, which gives names and sizes; what the operators
    compute in detail is our reading.
    """

    def __init__(
        self,
        operator: Operator = "mean",
        *,
        n_windows: int | None = None,
        width: int | None = None,
        pool_channels: bool = False,
    ) -> None:
        super().__init__()
        if operator not in get_args(Operator):
            raise ValueError(f"operator is {operator!r}, wanted one of {get_args(Operator)}")
        if pool_channels and operator != "mean":
            raise ValueError(f"operator is {operator!r}, wanted 'mean' to pool channels")
        self.operator = operator
        self.pool_channels = pool_channels
        self.n_windows = n_windows
        if operator in ("pointwise", "linear"):
            if n_windows is None or n_windows < 1:
                raise ValueError(f"n_windows is {n_windows}, wanted at least 1 for {operator!r}")
            if operator == "linear":
                self.sum: nn.Module = nn.Linear(n_windows, 1)
            elif width is None or width < 1:
                raise ValueError(f"width is {width}, wanted at least 1 for {operator!r}")
            else:
                self.sum = nn.Linear(n_windows * width, width)
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin as the mean over windows."""
        if not isinstance(linear := getattr(self, "sum", None), nn.Linear) or not self.n_windows:
            return
        with torch.no_grad():
            each = torch.eye(linear.out_features).repeat(1, self.n_windows) / self.n_windows
            linear.weight.copy_(each)
            linear.bias.zero_()

    def forward(
        self, windows: Tensor, queries: Tensor | None = None, keys: Tensor | None = None
    ) -> Tensor:
        """Fuse samples ``(B, H, L, nW, c)``, L places in each of nW windows, into ``(B, H, L, c)``.

        Args:
            queries: Who asks, ``(B, H, N, c)``; wanted by ``prob_sparse``.
            keys: What the queries compare themselves with, ``(B, H, L, nW, c)``: the keys of the
                samples; the samples themselves if not given.
        """
        if windows.ndim != 5:
            raise ValueError(f"windows have shape {tuple(windows.shape)}, wanted (B, H, L, nW, c)")
        if self.operator == "max":
            return windows.amax(dim=3)
        if self.operator == "mean":
            pooled = self.pool_channels
            return average_neighbouring_channels(windows) if pooled else windows.mean(dim=3)
        if self.operator == "prob_sparse":
            return _informative_samples(windows, queries, keys)
        if windows.shape[3] != self.n_windows:
            raise ValueError(
                f"there are {windows.shape[3]} windows, wanted {self.n_windows}: the weights of "
                f"{self.operator!r} belong to a size of the map"
            )
        if self.operator == "linear":
            return self.sum(windows.transpose(3, 4)).squeeze(-1)
        return self.sum(windows.flatten(3))


def average_neighbouring_channels(windows: Tensor) -> Tensor:
    """Average over windows as the official release computes it.

    It writes the channels of all windows ``(B, H, L, nW, c)`` one after the other, ``nW * c``
    numbers, and lets an adaptive average leave c of them. That averages nW numbers that stand side
    by side: mostly channels of the same window. The result ``(B, H, L, c)`` is the mean over
    windows only if there is one window.

    Example:
        >>> windows = torch.arange(12.0).view(1, 1, 1, 3, 4)
        >>> average_neighbouring_channels(windows).flatten()  # of 0 1 2, of 3 4 5, ...
        tensor([ 1.,  4.,  7., 10.])
    """
    n_windows, width = windows.shape[3:]
    return windows.flatten(3).unflatten(3, (width, n_windows)).mean(dim=-1)


def informative_keys(
    queries: Tensor,
    keys: Tensor,
    n_keep: int,
    *,
    n_queries: int | None = None,
    pool: Literal["mean", "max"] = "mean",
) -> Tensor:
    """Choose the keys that the most decided queries like best: ``(B, H, n_keep)``, ascending.

    A query of ``(B, H, N, c)`` is decided if its distribution over the keys ``(B, H, K, c)`` is far
    from uniform: ``KL(P || U) = ln K + sum_j P(j) ln P(j)``. The scores of the ``n_queries`` most
    decided queries, ``ceil(ln N)`` if None, are pooled over these queries, and the keys with the
    highest pooled scores stay. Nothing is drawn at random.

    Source: the ablation report, section 1, after Zhou et al., Informer (2021). The report leaves
    open whether scores are scaled and how they are pooled: ours are scaled by ``1 / sqrt(c)``, as
    in the attention that follows, and averaged unless told otherwise.
    """
    if queries.ndim != 4 or keys.ndim != 4 or queries.shape[:2] != keys.shape[:2]:
        raise ValueError(
            f"queries have shape {tuple(queries.shape)} and keys {tuple(keys.shape)}, wanted "
            "(B, H, N, c) and (B, H, K, c)"
        )
    if queries.shape[3] != keys.shape[3]:
        raise ValueError(
            f"queries have {queries.shape[3]} channels and keys {keys.shape[3]}, wanted as many"
        )
    N, K = queries.shape[2], keys.shape[2]
    if not 1 <= n_keep <= K:
        raise ValueError(f"n_keep is {n_keep}, wanted 1 to the number of keys {K}")
    if pool not in ("mean", "max"):
        raise ValueError(f"pool is {pool!r}, wanted 'mean' or 'max'")
    n_queries = math.ceil(math.log(max(N, 2))) if n_queries is None else n_queries
    if not 1 <= n_queries <= N:
        raise ValueError(f"n_queries is {n_queries}, wanted 1 to the number of queries {N}")
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(2, 3)
    log_weights = scores.log_softmax(dim=-1)
    divergence = math.log(K) + (log_weights.exp() * log_weights).sum(dim=-1)
    decided = divergence.topk(n_queries, dim=-1).indices
    chosen = scores.gather(2, decided[..., None].expand(-1, -1, -1, K))
    pooled = chosen.mean(dim=2) if pool == "mean" else chosen.amax(dim=2)
    return pooled.topk(n_keep, dim=-1).indices.sort(dim=-1).values


def _informative_samples(windows: Tensor, queries: Tensor | None, keys: Tensor | None) -> Tensor:
    if queries is None:
        raise ValueError("got no queries, wanted (B, H, N, c) for 'prob_sparse'")
    keys = windows if keys is None else keys
    if keys.shape != windows.shape:
        raise ValueError(
            f"keys have shape {tuple(keys.shape)}, wanted that of the windows, "
            f"{tuple(windows.shape)}"
        )
    index = informative_keys(queries.detach(), keys.detach().flatten(2, 3), windows.shape[2])
    samples = windows.flatten(2, 3)
    return samples.gather(2, index[..., None].expand(-1, -1, -1, samples.shape[-1]))
