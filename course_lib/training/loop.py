"""The loop: epochs of steps, with a schedule, checkpoints, and a stop when numbers run away."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_lib.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from course_lib.training.memory import recomputing
from course_lib.training.randomness import derive_seed

Batch = TypeVar("Batch")


def warmup_cosine(
    step: int, *, total_steps: int, warmup_steps: int = 0, floor: float = 0.0
) -> float:
    """Factor on the learning rate: a straight rise, then half a cosine down to the floor.

    The first step already moves (factor ``1 / warmup_steps``, not 0), and the factor stays at the
    floor after ``total_steps``.

    Example:
        >>> [round(warmup_cosine(s, total_steps=6, warmup_steps=2), 2) for s in range(7)]
        [0.5, 1.0, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    if step < 0:
        raise ValueError(f"step is {step}, wanted at least 0")
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
    accumulate: int = 1,
    weigh: Callable[[Batch], float] | None = None,
    recompute: Sequence[type[nn.Module]] = (),
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    enough: Callable[[list[dict[str, float]]], bool] | None = None,
    checkpoint: Path | None = None,
    log: Callable[[Mapping[str, float]], None] | None = None,
    progress: bool = False,
) -> list[dict[str, float]]:
    """Train a model and report each epoch.

    A part that is in evaluation mode while the model is in training mode is frozen and stays so.
    Returns one row for each epoch, from 1: ``epoch``, mean ``loss``, last ``lr`` of the first
    parameter group, mean ``grad_norm`` before clipping, ``seconds``, and what ``evaluate``
    returned.

    Args:
        batches: From the number of an epoch to its batches, a pure function if runs are to be
            repeatable: ``lambda epoch: minibatches(x, y, batch_size=64,
            generator=seeded_generator(seed, epoch))``.
        loss: From model and batch to the scalar to be made small.
        epochs: Number of epochs in all, those of a resumed checkpoint included.
        seed: Seed of dropout. Torch's global generators are as before afterwards.
        schedule: From the number of a step to the factor on the learning rates.
        clip_norm: Largest allowed norm of the whole gradient, or None.
        autocast: ``torch.bfloat16`` to compute the loss in mixed precision.
        accumulate, weigh: As in :func:`train_epoch`.
        recompute: Kinds of blocks that are computed again in the backward pass.
        evaluate: Measures the model after every epoch, in evaluation mode, without gradients.
        enough: From the rows so far to whether training ends before its last epoch.
        checkpoint: File to resume from if it exists, and to write after every epoch.
        log: Takes each epoch's row.

    Raises:
        ValueError: If the checkpoint is of another seed or of more epochs.
        FloatingPointError: If a loss or a gradient is not finite; it says at which step, with which
            settings, and where the last good checkpoint is.

    Example:
        >>> from course_lib.training import minibatches, seeded_generator
        >>> x, model = torch.linspace(-1, 1, 64)[:, None], nn.Linear(1, 1)
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
    settings: dict[str, Any] = {
        "schedule": schedule,
        "clip_norm": clip_norm,
        "autocast": autocast,
        "accumulate": accumulate,
        "weigh": weigh,
    }
    history: list[dict[str, float]] = []
    step = 0
    modes = [(part, part.training) for part in model.modules()]
    for group in optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    if checkpoint is not None and checkpoint.exists():
        history, step = load_checkpoint(checkpoint, model, optimizer, seed=seed)
        if len(history) > epochs:
            raise CheckpointError(
                f"{checkpoint} holds {len(history)} epochs, wanted at most {epochs}"
            )

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        bar = tqdm(total=epochs, initial=len(history), unit="epoch", disable=not progress)
        for epoch in range(len(history), epochs):
            if history and enough is not None and enough(history):
                break
            torch.manual_seed(derive_seed(seed, epoch))
            started = time.perf_counter()
            row: dict[str, float] = {"epoch": epoch + 1}
            for part, mode in modes:
                part.training = mode
            try:
                with recomputing(model, *recompute) if recompute else nullcontext():
                    measured, step = train_epoch(
                        model, optimizer, batches(epoch), loss, first_step=step, **settings
                    )
            except FloatingPointError as error:
                raise FloatingPointError(
                    f"{error}, in epoch {epoch + 1} of a run with seed {seed}, "
                    f"learning rate {optimizer.param_groups[0]['lr']:.3g}, clip_norm {clip_norm}, "
                    f"autocast {autocast}, accumulate {accumulate}; "
                    f"{_last_good(checkpoint, len(history))}"
                ) from error
            row |= measured | {"seconds": time.perf_counter() - started}
            if evaluate is not None:
                model.eval()
                with torch.no_grad():
                    row |= evaluate(model)
            history.append(row)
            if log is not None:
                log(row)
            if checkpoint is not None:
                save_checkpoint(checkpoint, model, optimizer, history, step, seed=seed)
            bar.set_postfix({k: v for k, v in row.items() if k not in ("epoch", "seconds")})
            bar.update()
        bar.close()
    return history


def _last_good(checkpoint: Path | None, epochs: int) -> str:
    if checkpoint is None:
        return "no checkpoint was asked for"
    if not epochs:
        return f"there is no good checkpoint yet at {checkpoint}"
    return f"the last good checkpoint is {checkpoint}, after epoch {epochs}"


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
    accumulate: int = 1,
    weigh: Callable[[Batch], float] | None = None,
) -> tuple[dict[str, float], int]:
    """Take one optimiser step for each batch, or for each few.

    A loss or a gradient that is not finite ends it: on a CPU before it reaches the weights, on a
    GPU, which would have to wait for every look, after at most 50 steps. Returns mean loss, last
    learning rate and mean norm of the gradient, and the number of the next step.

    Args:
        first_step: Number of the first step, for the schedule.
        schedule: From the number of a step to the factor on each group's ``initial_lr``.
        clip_norm: Largest allowed norm of the whole gradient, or None.
        autocast: ``torch.bfloat16`` to compute the loss in mixed precision. Weights and optimiser
            stay in single precision.
        accumulate: Batches that make one step together; the last step may have fewer.
        weigh: How much a batch counts among those of its step. A loss that is a mean over rows
            wants their number, or each row of a smaller batch would count for more; if not given,
            batches count alike. One of weight 0, such as all padding, is left out.
    """
    if autocast == torch.float16:
        raise ValueError("autocast is float16, wanted bfloat16, which needs no scaling of the loss")
    if accumulate < 1:
        raise ValueError(f"accumulate is {accumulate}, wanted at least 1")
    wake(model)
    device = _kind_of_device(model)
    step = first_step
    max_norm = math.inf if clip_norm is None else clip_norm
    # Sums stay on the device: asking for a number at every step would make a GPU wait.
    loss_sum = norm_sum = torch.zeros(())
    unseen: list[tuple[int, Tensor, Tensor]] = []
    for pieces in _together(batches, accumulate):
        if schedule is not None:
            for group in optimizer.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * schedule(step)
        optimizer.zero_grad()
        value = torch.zeros(())
        for piece, share in _shares(pieces, weigh):
            with torch.autocast(device, dtype=autocast, enabled=autocast is not None):
                part = loss(model, piece) * share
            part.backward()
            value = value + part.detach()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        unseen.append((step, value, norm))
        if device == "cpu" or len(unseen) == 50:
            _stop_unless_finite(unseen)
        optimizer.step()
        loss_sum = loss_sum + value
        norm_sum = norm_sum + norm
        step += 1
    n = step - first_step
    if n == 0:
        raise ValueError("got no batches, wanted at least one")
    _stop_unless_finite(unseen)
    row = {
        "loss": float(loss_sum) / n,
        "lr": float(optimizer.param_groups[0]["lr"]),
        "grad_norm": float(norm_sum) / n,
    }
    return row, step


def wake(model: nn.Module) -> None:
    """Training mode, but for parts that are in evaluation mode in a model that is not: frozen."""
    if not model.training:
        model.train()


def _kind_of_device(model: nn.Module) -> str:
    return next(model.parameters()).device.type


def _together(batches: Iterable[Batch], n: int) -> Iterator[list[Batch]]:
    rest = iter(batches)
    while pieces := list(islice(rest, n)):
        yield pieces


def _shares(
    pieces: Sequence[Batch], weigh: Callable[[Batch], float] | None
) -> Iterator[tuple[Batch, float]]:
    weights = [1.0 if weigh is None else float(weigh(piece)) for piece in pieces]
    if min(weights) < 0 or not sum(weights) > 0:
        raise ValueError(f"batches of a step weigh {weights}, wanted a sum above 0, none below")
    for piece, weight in zip(pieces, weights, strict=True):
        if weight:  # or 0 times a loss that is NaN would be NaN
            yield piece, weight / sum(weights)


def _stop_unless_finite(unseen: list[tuple[int, Tensor, Tensor]]) -> None:
    for step, value, norm in unseen:
        for name, number in (("loss", float(value)), ("norm of the gradient", float(norm))):
            if not math.isfinite(number):
                raise FloatingPointError(f"{name} is {number} at step {step}")
    unseen.clear()
