"""Learning from a teacher: a token of its own for what the teacher says."""

import math
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers import xavier_init
from course_lib.vit.config import ViTConfig
from course_lib.vit.model import ViT

Kind = Literal["soft", "hard"]


class DistilledViT(ViT):
    """A vision transformer with a second learned token, whose classifier learns from a teacher.

    The class token answers for the labels, the distillation token for the teacher; what counts is
    the mean of their logits.

    Source: Touvron et al., Training Data-Efficient Image Transformers & Distillation through
    Attention (2021), section 4.
    """

    extra_tokens = 1

    def __init__(
        self, config: ViTConfig, *, fused: bool = True, generator: torch.Generator | None = None
    ) -> None:
        if config.pooling != "cls":
            raise ValueError(f"pooling is {config.pooling!r}, wanted 'cls': two tokens classify")
        super().__init__(config, fused=fused, generator=generator)
        self.distillation_token = nn.Parameter(torch.empty(1, config.d_model))
        self.distillation_head = nn.Linear(config.d_model, config.n_classes)
        xavier_init(self.distillation_head, generator=generator)
        nn.init.normal_(self.distillation_token, std=0.02, generator=generator)

    def forward(
        self, images: Tensor, *, return_weights: bool = False, apart: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits ``(B, n_classes)`` and weights as of a :class:`ViT`; two tokens are no patches.

        With ``apart``, for the loss, the logits of class and distillation token instead of their
        mean.
        """
        if apart and return_weights:
            raise ValueError("return_weights and apart are both True, wanted one of them")
        x, weights = self.encode(images, return_weights=return_weights)
        by_label, by_teacher = self.head(x[:, 0]), self.distillation_head(x[:, 1])
        if apart:
            return by_label, by_teacher
        logits = (by_label + by_teacher) / 2
        return logits if weights is None else (logits, weights)

    def prefix(self) -> Tensor:
        """The class token and the distillation token, ``(2, D)``."""
        return torch.cat([self.cls_token, self.distillation_token])


def distillation_loss(
    by_label: Tensor,
    by_teacher: Tensor,
    teacher: Tensor,
    labels: Tensor,
    *,
    kind: Kind = "hard",
    weight: float = 0.5,
    temperature: float = 3.0,
) -> Tensor:
    """Learn from labels and from a teacher at once: a scalar.

    ``(1 - w) CE(by_label, labels) + w D(by_teacher, teacher)``. Hard distillation takes the
    teacher's answer for a label: ``D = CE(by_teacher, argmax(teacher))``. Soft distillation
    compares distributions at a temperature: ``D = t^2 KL(softmax(teacher / t) ||
    softmax(by_teacher / t))``, where ``t^2`` keeps the size of gradients. Both are means over the
    batch; the published code divides the soft one by the number of classes besides.

    All logits are ``(B, n_classes)``, labels ``(B,)``. No gradient flows into the teacher. A model
    with one token passes the same logits twice.

    Source: Touvron et al. (2021), equations 2 and 3; Hinton et al., Distilling the Knowledge in a
    Neural Network (2015), section 2, for the temperature.

    Example:
        A student that answers as the teacher does has nothing left to learn from it.

        >>> teacher, labels = torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([1])
        >>> distillation_loss(teacher, teacher, teacher, labels, kind="soft", weight=1.0)
        tensor(0.)
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}, wanted one of {get_args(Kind)}")
    if not 0 <= weight <= 1:
        raise ValueError(f"weight is {weight}, wanted a share in [0, 1]")
    if temperature <= 0:
        raise ValueError(f"temperature is {temperature}, wanted a positive number")
    shapes = [tuple(x.shape) for x in (by_label, by_teacher, teacher)]
    if by_label.ndim != 2 or len(set(shapes)) > 1 or labels.shape != by_label.shape[:1]:
        raise ValueError(
            f"logits have shapes {shapes} and labels {tuple(labels.shape)}, "
            "wanted three times (B, n_classes) and (B,)"
        )
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(by_teacher, teacher.argmax(-1))
    else:
        student, target = (F.log_softmax(x / temperature, -1) for x in (by_teacher, teacher))
        # Where the teacher forbids a class, 0 times an infinite difference would be NaN.
        apart = torch.where(target == -math.inf, 0.0, target.exp() * (target - student))
        learned = apart.sum() / len(teacher) * temperature**2
    # A term of weight 0 is left out: it may be infinite.
    terms = ((1 - weight, F.cross_entropy(by_label, labels)), (weight, learned))
    return torch.stack([share * term for share, term in terms if share]).sum()
