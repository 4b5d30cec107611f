"""The runs of whole networks: their precision is what the processor is fast at."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from course_lib.experiments import image_models
from course_lib.experiments.image_models import ModelRun, Training
from course_lib.experiments.provenance import hardware
from course_lib.experiments.registry import Job


@pytest.mark.parametrize(
    ("capabilities", "precision"),
    [({"avx512_bf16": True}, torch.bfloat16), ({"avx512_bf16": False}, torch.float32),
     ({"neon": True}, torch.float32)],
)  # fmt: skip
def test_products_are_in_bfloat16_only_where_the_processor_has_them(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], precision: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    cpu = torch.device("cpu")
    config = image_models.EXPERIMENT.config("vit", "day")
    training = Training(Job("vit", config, 0, cpu, Path(), False), ModelRun(**config))
    made: list[Tensor] = []
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 10))
    model.register_forward_hook(lambda *arguments: made.append(arguments[-1]))
    loss = training.loss(model, torch.rand(4, 3, 2, 2), torch.arange(4))
    loss.backward()
    assert made[0].dtype == precision and loss.dtype == torch.float32
    assert model[1].weight.grad is not None and model[1].weight.dtype == torch.float32
    assert hardware(cpu)["bfloat16"] is (precision == torch.bfloat16)
