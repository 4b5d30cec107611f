"""Steps over tensors that stay where they are, in double precision beside the plain loop."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from course_lib import training
from course_lib.experiments.vit_cifar10 import make_optimizer
from course_lib.training import graphed, loop, minibatches, seeded_generator, warmup_cosine
from course_lib.vit import ViT, ViTConfig

X = torch.randn(44, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
LABELS = torch.randint(3, (44,), generator=torch.Generator().manual_seed(2))
OPTIMIZERS: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
    "sgd": lambda m: make_optimizer(m, "sgd", 0.1, 1e-2),
    "plain-sgd": lambda m: torch.optim.SGD(m.parameters(), 0.1),
    "nesterov": lambda m: torch.optim.SGD(m.parameters(), 0.05, momentum=0.9, nesterov=True),
    "adamw": lambda m: make_optimizer(m, "adamw", 1e-2, 0.05),
    "adam": lambda m: torch.optim.Adam(m.parameters(), 1e-2),
    "groups": lambda m: torch.optim.AdamW(
        [
            {"params": [p for p in m.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in m.parameters() if p.ndim <= 1], "lr": 0.03},
        ],
        lr=0.01,
    ),
}


def vit(device: str = "cpu", dtype: torch.dtype = torch.float64) -> ViT:
    config = ViTConfig(
        image_size=8, patch_size=4, n_classes=3, d_model=16, n_layers=2, n_heads=2, d_ff=32,
        dropout=0.1,
    )  # fmt: skip
    model = ViT(config, generator=seeded_generator(0)).to(device, dtype)
    for block in model.blocks:
        # Its gradient is zero but for rounding, which Adam would blow up to the size of its rate.
        block.attention.k_proj.bias.requires_grad_(False)
    return model


def batches(device: str = "cpu", dtype: torch.dtype = torch.float64) -> Callable[[int], Any]:
    # Eleven rows a batch in the last, sixteen before.
    x, labels = X.to(device, dtype), LABELS.to(device)

    def of_epoch(epoch: int) -> Iterator[tuple[Tensor, ...]]:
        return minibatches(x, labels, batch_size=16, generator=seeded_generator(0, epoch))

    return of_epoch


def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def far(a: nn.Module, b: nn.Module) -> float:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return max(float((x.cpu() - y.cpu()).abs().max()) for x, y in pairs)


def static(**settings: Any) -> tuple[nn.Module, torch.optim.Optimizer, list[dict[str, float]]]:
    """``fit`` with steps over tensors that stay where they are, none of them captured."""
    model, optimizer = settings.pop("model"), settings.pop("optimizer")
    epochs = graphed.Epochs(replay=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = graphed._through(epochs)(model, optimizer, batches(), loss, **settings)
    assert epochs.step is not None and not epochs.reason
    epochs.end()
    return model, optimizer, history


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(
    "settings",
    [
        {"clip_norm": None},
        {"clip_norm": 0.3, "schedule": lambda s: warmup_cosine(s, total_steps=12, warmup_steps=3)},
        {"clip_norm": 0.3, "accumulate": 2, "weigh": lambda batch: len(batch[1])},
        {"accumulate": 2},
    ],
    ids=["plain", "scheduled", "weighed", "accumulated"],
)
def test_static_steps_are_those_of_the_loop(name: str, settings: dict[str, Any]) -> None:
    plain = vit()
    optimizer = OPTIMIZERS[name](plain)
    wanted = loop.fit(plain, optimizer, batches(), loss, epochs=4, seed=3, **settings)
    model = vit()
    model, other, history = static(
        model=model, optimizer=OPTIMIZERS[name](model), epochs=4, seed=3, **settings
    )
    assert far(model, plain) < 1e-12
    for row, same in zip(history, wanted, strict=True):
        assert row.keys() == same.keys()
        for key in ("loss", "lr", "grad_norm"):
            assert row[key] == pytest.approx(same[key], rel=1e-12, abs=1e-12)
    # The optimiser looks as the loop leaves it.
    assert other.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]
    for mine, theirs in zip(other.state.values(), optimizer.state.values(), strict=True):
        assert mine.keys() == theirs.keys()
        if "step" in mine:
            assert mine["step"] == theirs["step"]


@pytest.mark.parametrize("name", ["sgd", "adamw"])
@pytest.mark.parametrize("first", ["loop", "static"])
def test_a_checkpoint_of_one_is_gone_on_with_by_the_other(
    tmp_path: Path, name: str, first: str
) -> None:
    whole = vit()
    loop.fit(whole, OPTIMIZERS[name](whole), batches(), loss, epochs=4)

    def go(kind: str, epochs: int) -> nn.Module:
        model = vit()
        more: dict[str, Any] = {"epochs": epochs, "checkpoint": tmp_path / "c.safetensors"}
        if kind == "loop":
            loop.fit(model, OPTIMIZERS[name](model), batches(), loss, **more)
        else:
            static(model=model, optimizer=OPTIMIZERS[name](model), **more)
        return model

    go(first, 2)
    assert far(go("static" if first == "loop" else "loop", 4), whole) < 1e-12


def test_a_loss_that_is_no_number_ends_it() -> None:
    model = vit()
    optimizer = torch.optim.SGD(model.parameters(), 1e200)
    with pytest.raises(FloatingPointError, match=r"at step \d+, in epoch 1 of a run with seed 0"):
        static(model=model, optimizer=optimizer, epochs=60)
    assert optimizer.param_groups[0]["lr"] == 1e200


@pytest.mark.parametrize(
    ("optimizer", "what", "reason"),
    [
        (lambda m: torch.optim.RMSprop(m.parameters(), 1e-3), None, "optimiser is RMSprop"),
        (
            lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.5, dampening=0.5), None,
            "dampening",
        ),
        (OPTIMIZERS["sgd"], "a name", "is no tensor"),
    ],
)  # fmt: skip
def test_what_is_no_graph_goes_step_by_step_and_is_told_once(
    optimizer: Callable[[nn.Module], torch.optim.Optimizer], what: Any, reason: str
) -> None:
    def named(epoch: int) -> Iterator[tuple[Any, ...]]:
        return ((*batch, what) if what else batch for batch in batches()(epoch))

    plain, model = vit(), vit()
    loop.fit(plain, optimizer(plain), named, loss, epochs=3)
    epochs = graphed.Epochs(replay=False)
    with pytest.warns(RuntimeWarning, match=reason) as said:
        graphed._through(epochs)(model, optimizer(model), named, loss, epochs=3)
    assert len(said) == 1 and far(model, plain) == 0


def test_on_a_cpu_fit_is_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphed, "Epochs", None)
    plain, model = vit(), vit()
    loop.fit(plain, OPTIMIZERS["sgd"](plain), batches(), loss, epochs=2)
    training.fit(model, OPTIMIZERS["sgd"](model), batches(), loss, epochs=2)
    assert far(model, plain) == 0
    assert graphed.told(torch.device("cpu")) == {}


def test_blocks_are_what_a_network_has_several_of() -> None:
    model = vit()
    assert list(graphed._repeated(model)) == list(model.blocks)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_on_a_gpu_a_graph_takes_the_same_steps(name: str) -> None:
    plain, model = vit("cuda"), vit("cuda")
    loop.fit(plain, OPTIMIZERS[name](plain), batches("cuda"), loss, epochs=4, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        training.fit(model, OPTIMIZERS[name](model), batches("cuda"), loss, epochs=4, seed=3)
    # The rate is a tensor of single precision there.
    assert far(model, plain) < 1e-6


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_a_loss_that_asks_for_a_number_goes_step_by_step() -> None:
    def asking(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        value = loss(model, batch)
        return value if value.item() < 1e9 else value * 2

    plain, model = vit("cuda"), vit("cuda")
    loop.fit(plain, OPTIMIZERS["sgd"](plain), batches("cuda"), asking, epochs=2)
    with pytest.warns(RuntimeWarning, match="step by step"):
        training.fit(model, OPTIMIZERS["sgd"](model), batches("cuda"), asking, epochs=2)
    assert far(model, plain) < 1e-12
