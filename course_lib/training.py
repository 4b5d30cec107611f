"""A training loop small enough to read, and what it needs.

A run is a pure function of its arguments: batches are made from the number of the epoch, dropout is
seeded anew at its start. That is why a run that was killed and resumed ends exactly where an
undisturbed one does.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

__all__ = [
    "accuracy",
    "count_parameters",
    "derive_seed",
    "evaluate_accuracy",
    "fit",
    "load_checkpoint",
    "minibatches",
    "save_checkpoint",
    "seeded_generator",
    "train_epoch",
    "warmup_cosine",
]

Batch = TypeVar("Batch")


# --------------------------------------------------------------------------- randomness


def derive_seed(seed: int, *path: int) -> int:
    """Make a seed of its own for each part of a run, e.g. ``derive_seed(seed, epoch)``.

    Args:
        seed: Seed of the run, not negative.
        path: Numbers that name the part, not negative.

    Returns:
        A number below 2^64 that looks unrelated to those of all other parts and runs.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> derive_seed(0, 1) == derive_seed(0, 1), derive_seed(0, 1) == derive_seed(1, 0)
        (True, False)
    """
    # NumPy pads with zeros, so the length keeps (0,) and (0, 0) apart.
    return int(np.random.SeedSequence([len(path), seed, *path]).generate_state(1, np.uint64)[0])


def seeded_generator(seed: int, *path: int) -> torch.Generator:
    """Make a CPU generator of its own for each part of a run.

    Args:
        seed: Seed of the run, not negative.
        path: Numbers that name the part, not negative.

    Returns:
        A generator; torch's global one is neither used nor changed.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> torch.randperm(5, generator=seeded_generator(0, 1))
        tensor([4, 3, 0, 1, 2])
        >>> torch.randperm(5, generator=seeded_generator(0, 1))
        tensor([4, 3, 0, 1, 2])
    """
    return torch.Generator().manual_seed(derive_seed(seed, *path))


def minibatches(
    *tensors: Tensor, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Cut tensors into batches along their first axis, in random order if a generator is given.

    Args:
        tensors: Tensors ``(N, ...)`` of the same N.
        batch_size: Rows of a batch; the last one may be smaller.
        generator: Source of the order.

    Yields:
        One tuple of tensors ``(batch_size, ...)`` for each batch.

    Raises:
        ValueError: If the tensors' first sizes differ or ``batch_size`` is below 1.

    Example:
        >>> [x.tolist() for x, in minibatches(torch.arange(5), batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """
    sizes = [len(tensor) for tensor in tensors]
    if len(set(sizes)) != 1:
        raise ValueError(f"tensors have {sizes} rows, wanted one number for all")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, wanted at least 1")
    order = torch.arange(sizes[0])
    if generator is not None:
        order = torch.randperm(sizes[0], generator=generator)
    for rows in order.split(batch_size):
        yield tuple(tensor[rows] for tensor in tensors)


# --------------------------------------------------------------------------- measures


def count_parameters(model: nn.Module) -> int:
    """Count the numbers that training changes.

    Args:
        model: Any module.

    Returns:
        Number of elements of all parameters that require a gradient.

    Example:
        >>> count_parameters(nn.Linear(3, 4))
        16
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def accuracy(logits: Tensor, labels: Tensor, *, ignore_id: int | None = None) -> float:
    """Share of places where the largest logit is the label's.

    Args:
        logits: ``(..., n_classes)``.
        labels: Class numbers ``(...)``.
        ignore_id: Label of places that don't count, such as padding.

    Returns:
        A number in [0, 1]; NaN if no place counts.

    Raises:
        ValueError: If the shapes don't fit together.

    Example:
        >>> logits = torch.tensor([[2.0, 1.0], [0.0, 3.0], [5.0, 0.0]])
        >>> accuracy(logits, torch.tensor([0, 0, 1]), ignore_id=1)
        0.5
    """
    right, n = _count_right(logits, labels, ignore_id)
    return right / n if n else math.nan


def evaluate_accuracy(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    predict: Callable[[nn.Module, Any], tuple[Tensor, Tensor]] | None = None,
    ignore_id: int | None = None,
) -> float:
    """Accuracy over many batches, each place counting once however the batches are cut.

    Args:
        model: Evaluated in evaluation mode and without gradients; its mode is restored.
        batches: What ``predict`` understands.
        predict: From model and batch to logits ``(..., n_classes)`` and labels ``(...)``; if not
            given, a batch is a pair of inputs and labels.
        ignore_id: Label of places that don't count, such as padding.

    Returns:
        A number in [0, 1]; NaN if no place counts.

    Example:
        >>> images, labels = torch.eye(3), torch.tensor([0, 1, 1])
        >>> round(evaluate_accuracy(nn.Identity(), [(images, labels)]), 3)
        0.667
    """
    predict = predict or _predict_pair
    right = n = 0
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for batch in batches:
                more_right, more = _count_right(*predict(model, batch), ignore_id)
                right, n = right + more_right, n + more
    finally:
        model.train(was_training)
    return right / n if n else math.nan


def _predict_pair(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    inputs, labels = batch
    return model(inputs), labels


def _count_right(logits: Tensor, labels: Tensor, ignore_id: int | None) -> tuple[int, int]:
    if logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and labels {tuple(labels.shape)}, "
            "wanted (..., n_classes) and (...)"
        )
    counts = torch.ones_like(labels, dtype=torch.bool)
    if ignore_id is not None:
        counts = labels != ignore_id
    return int(((logits.argmax(dim=-1) == labels) & counts).sum()), int(counts.sum())


# --------------------------------------------------------------------------- the loop


def warmup_cosine(
    step: int, *, total_steps: int, warmup_steps: int = 0, floor: float = 0.0
) -> float:
    """Factor on the learning rate: a straight rise, then half a cosine down to the floor.

    The first step already moves (factor ``1 / warmup_steps``, not 0).

    Args:
        step: Number of the step, from 0.
        total_steps: Steps of the whole run; the factor stays at the floor after them.
        warmup_steps: Steps of the rise.
        floor: Factor at the end.

    Returns:
        A number in (0, 1], or the floor.

    Raises:
        ValueError: If ``warmup_steps`` is not in 0..total_steps or the floor not in [0, 1].

    Example:
        >>> [round(warmup_cosine(s, total_steps=6, warmup_steps=2), 2) for s in range(7)]
        [0.5, 1.0, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    if not 0 <= warmup_steps <= total_steps:
        raise ValueError(f"warmup_steps is {warmup_steps}, wanted a number in 0..{total_steps}")
    if not 0 <= floor <= 1:
        raise ValueError(f"floor is {floor}, wanted a number in [0, 1]")
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Callable[[int], Iterable[Batch]],
    loss: Callable[[nn.Module, Batch], Tensor],
    *,
    epochs: int,
    seed: int = 0,
    schedule: Callable[[int], float] | None = None,
    clip_norm: float | None = 1.0,
    autocast: torch.dtype | None = None,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    checkpoint: Path | None = None,
    progress: bool = False,
) -> list[dict[str, float]]:
    """Train a model and report each epoch.

    Args:
        model: Trained in place.
        optimizer: Holds the model's parameters; its learning rates are those before the schedule.
        batches: From the number of an epoch to its batches, a pure function if runs are to be
            repeatable: ``lambda epoch: minibatches(x, y, batch_size=64,
            generator=seeded_generator(seed, epoch))``.
        loss: From model and batch to the scalar to be made small.
        epochs: Number of epochs in all, those of a resumed checkpoint included.
        seed: Seed of dropout. Torch's global generators are as before afterwards.
        schedule: From the number of a step to the factor on the learning rates.
        clip_norm: Largest allowed norm of the whole gradient, or None.
        autocast: ``torch.bfloat16`` to compute the loss in mixed precision.
        evaluate: Measures the model after every epoch, in evaluation mode, without gradients.
        checkpoint: File to resume from if it exists, and to write after every epoch.
        progress: Whether to show a progress bar.

    Returns:
        One row for each epoch, from 1: ``epoch``, mean ``loss``, last ``lr`` of the first
        parameter group, mean ``grad_norm`` before clipping, ``seconds``, and what ``evaluate``
        returned.

    Raises:
        ValueError: If the checkpoint is of another seed or of more epochs.
        FloatingPointError: If the mean loss of an epoch is not finite.

    Example:
        >>> x = torch.linspace(-1, 1, 64)[:, None]
        >>> model = nn.Linear(1, 1)
        >>> history = fit(
        ...     model,
        ...     torch.optim.SGD(model.parameters(), lr=0.5),
        ...     lambda epoch: minibatches(x, 3 * x, batch_size=8,
        ...                               generator=seeded_generator(0, epoch)),
        ...     lambda model, batch: (model(batch[0]) - batch[1]).square().mean(),
        ...     epochs=10,
        ... )
        >>> history[-1]["loss"] < 1e-4
        True
    """
    history: list[dict[str, float]] = []
    step = 0
    for group in optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    if checkpoint is not None and checkpoint.exists():
        history, step = load_checkpoint(checkpoint, model, optimizer, seed=seed)
        if len(history) > epochs:
            raise ValueError(f"{checkpoint} holds {len(history)} epochs, wanted at most {epochs}")

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        bar = tqdm(total=epochs, initial=len(history), unit="epoch", disable=not progress)
        for epoch in range(len(history), epochs):
            torch.manual_seed(derive_seed(seed, epoch))
            started = time.perf_counter()
            row: dict[str, float] = {"epoch": epoch + 1}
            measured, step = train_epoch(
                model,
                optimizer,
                batches(epoch),
                loss,
                first_step=step,
                schedule=schedule,
                clip_norm=clip_norm,
                autocast=autocast,
            )
            row |= measured | {"seconds": time.perf_counter() - started}
            if evaluate is not None:
                model.eval()
                with torch.no_grad():
                    row |= evaluate(model)
            history.append(row)
            if checkpoint is not None:
                save_checkpoint(checkpoint, model, optimizer, history, step, seed=seed)
            bar.set_postfix({k: v for k, v in row.items() if k not in ("epoch", "seconds")})
            bar.update()
        bar.close()
    return history


def train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[Batch],
    loss: Callable[[nn.Module, Batch], Tensor],
    *,
    first_step: int = 0,
    schedule: Callable[[int], float] | None = None,
    clip_norm: float | None = 1.0,
    autocast: torch.dtype | None = None,
) -> tuple[dict[str, float], int]:
    """Take one optimiser step for each batch.

    Args:
        model: Trained in place, in training mode.
        optimizer: Holds the model's parameters.
        batches: The batches of this epoch, at least one.
        loss: From model and batch to the scalar to be made small.
        first_step: Number of the first step, for the schedule.
        schedule: From the number of a step to the factor on each group's ``initial_lr``.
        clip_norm: Largest allowed norm of the whole gradient, or None.
        autocast: ``torch.bfloat16`` to compute the loss in mixed precision. Weights and optimiser
            stay in single precision.

    Returns:
        Mean loss, last learning rate and mean norm of the gradient, and the number of the next
        step.

    Raises:
        ValueError: If there are no batches, or for half precision, whose gradients vanish unless
            the loss is scaled.
        FloatingPointError: If the mean loss is not finite.

    Example:
        >>> model = nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> batches = [torch.randn(8, 2) for _ in range(5)]
        >>> row, step = train_epoch(model, optimizer, batches, lambda m, x: m(x).square().mean())
        >>> sorted(row), step
        (['grad_norm', 'loss', 'lr'], 5)
    """
    if autocast == torch.float16:
        raise ValueError("autocast is float16, wanted bfloat16, which needs no scaling of the loss")
    model.train()
    device = next(model.parameters()).device.type
    step = first_step
    max_norm = math.inf if clip_norm is None else clip_norm
    # Sums stay on the device: asking for a number at every step would make a GPU wait.
    loss_sum = norm_sum = torch.zeros(())
    for batch in batches:
        if schedule is not None:
            for group in optimizer.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * schedule(step)
        with torch.autocast(device, dtype=autocast, enabled=autocast is not None):
            value = loss(model, batch)
        optimizer.zero_grad()
        value.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        loss_sum = loss_sum + value.detach()
        norm_sum = norm_sum + norm
        step += 1
    n = step - first_step
    if n == 0:
        raise ValueError("got no batches, wanted at least one")
    row = {
        "loss": float(loss_sum) / n,
        "lr": float(optimizer.param_groups[0]["lr"]),
        "grad_norm": float(norm_sum) / n,
    }
    if not math.isfinite(row["loss"]):
        raise FloatingPointError(f"mean loss is {row['loss']} in steps {first_step}..{step - 1}")
    return row, step


# --------------------------------------------------------------------------- checkpoints


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: list[dict[str, float]],
    step: int,
    *,
    seed: int,
) -> None:
    """Write all that a run needs to go on.

    The file is written beside its place and then moved there in one go, so that a kill at any
    moment leaves either the old checkpoint or the new one.

    Args:
        path: Where to; missing folders are made.
        model: The model.
        optimizer: The optimiser with its moments.
        history: Rows of the finished epochs.
        step: Number of the next step.
        seed: Seed of the run.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "history": history,
        "step": step,
        "seed": seed,
    }
    torch.save(state, partial)
    os.replace(partial, path)


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, seed: int
) -> tuple[list[dict[str, float]], int]:
    """Put model and optimiser back to where :func:`save_checkpoint` left them.

    Args:
        path: The file.
        model: Changed in place.
        optimizer: Changed in place.
        seed: Seed of the run.

    Returns:
        Rows of the finished epochs and the number of the next step.

    Raises:
        ValueError: If the checkpoint is of another seed.
    """
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["seed"] != seed:
        raise ValueError(f"{path} is of a run with seed {state['seed']}, wanted seed {seed}")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["history"], state["step"]
