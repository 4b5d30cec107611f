"""Linear probes of a layer, and how much of a score the probe has learned by itself."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


class LinearProbe:
    """Multinomial logistic regression on frozen features.

    Features are standardised with the mean and deviation of the training set; the fit is convex and
    starts from 0, so nothing about it is random. ``l2`` is the weight of the squared norm of the
    map in the loss, ``max_steps`` the largest number of steps of L-BFGS.

    Source: Alain and Bengio, Understanding Intermediate Layers Using Linear Classifier Probes
    (2016).
    """

    def __init__(self, n_classes: int, *, l2: float = 1e-3, max_steps: int = 100) -> None:
        if n_classes < 2 or l2 < 0:
            raise ValueError(
                f"n_classes is {n_classes} and l2 {l2}, wanted at least 2 and not negative"
            )
        self.n_classes = n_classes
        self.l2 = l2
        self.max_steps = max_steps

    def fit(self, features: Tensor, labels: Tensor) -> "LinearProbe":
        """Find the map from features ``(N, D)`` to labels ``(N,)``; returns the probe itself."""
        if features.ndim != 2 or labels.shape != features.shape[:1]:
            raise ValueError(
                f"features have shape {tuple(features.shape)} and labels {tuple(labels.shape)}, "
                "wanted (N, D) and (N,)"
            )
        if labels.numel() and not 0 <= int(labels.min()) <= int(labels.max()) < self.n_classes:
            raise ValueError(f"labels reach {int(labels.max())}, wanted 0 to {self.n_classes - 1}")
        features = features.detach().double()
        self.mean = features.mean(dim=0)
        deviation = features.std(dim=0, unbiased=False)
        # A channel that never changes says nothing, and must not divide by 0.
        self.deviation = torch.where(deviation > 1e-9, deviation, 1.0)
        x = (features - self.mean) / self.deviation
        self.weight = x.new_zeros(self.n_classes, x.shape[1], requires_grad=True)
        self.bias = x.new_zeros(self.n_classes, requires_grad=True)
        solver = torch.optim.LBFGS(
            [self.weight, self.bias], max_iter=self.max_steps, line_search_fn="strong_wolfe"
        )

        def loss() -> Tensor:
            solver.zero_grad()
            with torch.enable_grad():
                fit = F.cross_entropy(F.linear(x, self.weight, self.bias), labels)
                total = fit + self.l2 * self.weight.square().sum()
                total.backward()
            return total

        solver.step(loss)
        self.weight, self.bias = self.weight.detach(), self.bias.detach()
        return self

    def predict(self, features: Tensor) -> Tensor:
        """The likeliest class ``(N,)`` of each of ``(N, D)``."""
        x = (features.detach().double() - self.mean) / self.deviation
        return F.linear(x, self.weight, self.bias).argmax(dim=-1)

    def accuracy(self, features: Tensor, labels: Tensor) -> float:
        """Share of right answers."""
        return (self.predict(features) == labels).double().mean().item()


def control_labels(types: Sequence[Hashable], labels: Tensor, generator: torch.Generator) -> Tensor:
    """Give each word a label at random, always the same one, ``(N,)``, in real proportions.

    Nothing about such labels can be in the features but the identity of the word.

    Source: Hewitt and Liang, Designing and Interpreting Probes with Control Tasks (2019),
    section 2.
    """
    if labels.shape != (len(types),):
        raise ValueError(f"labels have shape {tuple(labels.shape)}, wanted ({len(types)},)")
    numbers = {word: number for number, word in enumerate(dict.fromkeys(types))}
    drawn = labels[torch.randint(len(labels), (len(numbers),), generator=generator)]
    return drawn[torch.tensor([numbers[word] for word in types])]


@dataclass(frozen=True)
class ProbeResult:
    """Accuracies of a probe: on the real labels, on control labels, of the most frequent class."""

    accuracy: float
    control: float
    majority: float


def probe_selectivity(
    features: Tensor,
    labels: Tensor,
    types: Sequence[Hashable],
    n_train: int,
    generator: torch.Generator,
    *,
    l2: float = 1e-3,
) -> ProbeResult:
    """Probe features ``(N, D)`` for labels ``(N,)`` and for control labels, on held-out places.

    The first ``n_train`` places are for training, the others for measuring; keep sentences together
    and in random order. ``types`` are the words.

    Source: Hewitt and Liang (2019), section 2.
    """
    if not 0 < n_train < len(features):
        raise ValueError(f"n_train is {n_train}, wanted between 0 and {len(features)}")
    control = control_labels(types, labels, generator)
    n_classes = max(2, int(labels.max()) + 1)

    def accuracy(targets: Tensor) -> float:
        probe = LinearProbe(n_classes, l2=l2).fit(features[:n_train], targets[:n_train])
        return probe.accuracy(features[n_train:], targets[n_train:])

    usual = labels[:n_train].bincount().argmax()
    majority = (labels[n_train:] == usual).double().mean().item()
    return ProbeResult(accuracy(labels), accuracy(control), majority)
