"""What a linear map can read off a layer, and how much of that it has learned by itself."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


class LinearProbe:
    """Multinomial logistic regression on frozen features.

    Features are standardised with the mean and deviation of the training set; the fit is convex and
    starts from 0, so nothing about it is random.

    Source: Alain and Bengio, Understanding Intermediate Layers Using Linear Classifier Probes
    (2016).

    Args:
        n_classes: Number of classes C.
        l2: Weight of the squared norm of the map in the loss.
        max_steps: Largest number of steps of L-BFGS.

    Raises:
        ValueError: If there are fewer than 2 classes or ``l2`` is negative.

    Example:
        >>> features = torch.tensor([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0], [5.0, 5.0]])
        >>> probe = LinearProbe(2).fit(features, torch.tensor([0, 0, 1, 1]))
        >>> probe.predict(torch.tensor([[0.5, 5.0], [4.5, 5.0]]))
        tensor([0, 1])
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
        """Find the map.

        Args:
            features: ``(N, D)``; no gradient flows into them.
            labels: Whole numbers ``(N,)`` below ``n_classes``.

        Returns:
            The probe itself.

        Raises:
            ValueError: If the shapes don't fit together or a label is out of range.
        """
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
        self.weight = torch.zeros(self.n_classes, x.shape[1], dtype=x.dtype, requires_grad=True)
        self.bias = torch.zeros(self.n_classes, dtype=x.dtype, requires_grad=True)
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
        """The likeliest class of each.

        Args:
            features: ``(N, D)``.

        Returns:
            Whole numbers ``(N,)``.
        """
        x = (features.detach().double() - self.mean) / self.deviation
        return F.linear(x, self.weight, self.bias).argmax(dim=-1)

    def accuracy(self, features: Tensor, labels: Tensor) -> float:
        """Share of right answers.

        Args:
            features: ``(N, D)``.
            labels: ``(N,)``.
        """
        return (self.predict(features) == labels).double().mean().item()


def control_labels(types: Sequence[Hashable], labels: Tensor, generator: torch.Generator) -> Tensor:
    """Give each word a label at random, always the same one.

    Nothing about such labels can be in the features but the identity of the word. A probe that
    learns them has a memory of its own, and its success at the real task proves little.

    Source: Hewitt and Liang, Designing and Interpreting Probes with Control Tasks (2019),
    section 2.

    Args:
        types: The word at each of N places.
        labels: The real labels ``(N,)``. Control labels are drawn in the same proportions.
        generator: Source of the draws.

    Returns:
        Whole numbers ``(N,)``.

    Raises:
        ValueError: If there are not as many labels as words.

    Example:
        >>> labels = torch.tensor([0, 1, 1, 0])
        >>> control = control_labels(["a", "b", "a", "b"], labels, torch.Generator().manual_seed(0))
        >>> bool(control[0] == control[2]), bool(control[1] == control[3])
        (True, True)
    """
    if labels.shape != (len(types),):
        raise ValueError(f"labels have shape {tuple(labels.shape)}, wanted ({len(types)},)")
    numbers = {word: number for number, word in enumerate(dict.fromkeys(types))}
    drawn = labels[torch.randint(len(labels), (len(numbers),), generator=generator)]
    return drawn[torch.tensor([numbers[word] for word in types])]


@dataclass(frozen=True)
class ProbeResult:
    """What a probe finds in features.

    Args:
        accuracy: On the real labels.
        control: On control labels.
        majority: Of always saying the class that is most frequent in training.

    Example:
        >>> round(ProbeResult(accuracy=0.97, control=0.92, majority=0.3).selectivity, 2)
        0.05
    """

    accuracy: float
    control: float
    majority: float

    @property
    def selectivity(self) -> float:
        """How much better the probe is at the real task than at the control task."""
        return self.accuracy - self.control


def probe_selectivity(
    features: Tensor,
    labels: Tensor,
    types: Sequence[Hashable],
    n_train: int,
    generator: torch.Generator,
    *,
    l2: float = 1e-3,
) -> ProbeResult:
    """Probe features for labels and for control labels, both measured on held-out places.

    Source: Hewitt and Liang (2019), section 2.

    Args:
        features: ``(N, D)``, in the order of places; keep sentences together and in random order.
        labels: Whole numbers ``(N,)``.
        types: The word at each place.
        n_train: How many places are for training, from the front; the others for measuring.
        generator: Source of the control labels.
        l2: As of :class:`LinearProbe`.

    Returns:
        Accuracies on the held-out places.

    Raises:
        ValueError: If no place is left for training or measuring, or the shapes don't fit.

    Example:
        The label is a channel of the features; the word is not in them.

        >>> generator = torch.Generator().manual_seed(0)
        >>> features = torch.randn(400, 6, generator=generator)
        >>> labels = (features[:, 2] > 0).long()
        >>> words = torch.randint(40, (400,), generator=generator).tolist()
        >>> found = probe_selectivity(features, labels, words, 200, generator)
        >>> found.accuracy > 0.95, found.selectivity > 0.3
        (True, True)
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
