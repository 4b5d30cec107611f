"""Plays of Shakespeare at four times the trained length, by kind of position.

A model of the writer's size reads characters in stretches of 64 and is measured on stretches of
256: its loss at each place, for each kind of position. Rotations are also measured with the
speeds of position interpolation, of a larger base and of YaRN, without further training.
"""

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.experiments.extrapolation import LanguageConfig, LanguageModel, losses, rise
from course_lib.experiments.generated import Batch, Recipe, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse, Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.positions import rotary_frequencies, rotate
from course_lib.training import count_parameters, seeded_generator

PLACES = 8  # places of which a point of the curve is the mean
FEW, MANY = 1, 4  # turns within the trained length: fewer are slowed, more are left alone


@dataclass(frozen=True)
class PlacesConfig(LanguageConfig):
    """All settings: the writer's size, and as many steps of as many characters."""

    n_layers: int = 4
    length: int = 64
    n_sentences: int = 0
    n_test: int = 434  # all of the validation text
    d_model: int = 128
    d_ff: int = 512
    batch_size: int = 12
    epochs: int = 10
    steps: int = 200
    learning_rate: float = 1e-3
    warmup: int = 100


class Turning(nn.Module):
    """Rotations at given speeds ``(Dh / 2,)``; queries and keys are multiplied by ``factor``."""

    def __init__(self, speeds: Tensor, factor: float = 1.0) -> None:
        super().__init__()
        self.speeds, self.factor = speeds, factor

    def forward(self, q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        """Turn queries and keys ``(..., T, Dh)`` by their places."""
        angles = (torch.arange(q.shape[-2]) + offset)[:, None] * self.speeds
        return self.factor * rotate(q, angles), self.factor * rotate(k, angles)


def extensions(d_head: int, length: int, factor: float) -> dict[str, Turning]:
    """Three ways of reading texts that are ``factor`` times as long as in training.

    Source: Chen et al. (2023), section 2.3; Peng et al., YaRN (2024), sections 3.1 to 3.4.
    """
    speeds = rotary_frequencies(d_head)
    turns = length * speeds / (2 * math.pi)
    stays = ((turns - FEW) / (MANY - FEW)).clamp(0, 1)
    base = 10_000 * factor ** (d_head / (d_head - 2))
    return {
        "interpolation": Turning(speeds / factor),
        "larger base": Turning(rotary_frequencies(d_head, base=base)),
        "YaRN": Turning(stays * speeds + (1 - stays) * speeds / factor, 0.1 * math.log(factor) + 1),
    }


def gain(record: Record) -> float:
    """By how much YaRN lowers the loss of the last places."""
    last = str(4 * record.config["length"])
    results = record.results
    return float(results["loss_by_place"][last] - results["extended"]["YaRN"][last])


@experiment(
    "writer-positions",
    "plays of Shakespeare at four times the trained length, by kind of position",
    arms={p: {"positions": p} for p in ("sinusoidal", "learned", "none", "rotary", "alibi")},
    sizes={"cpu": Size(asdict(PlacesConfig()), (0, 1, 2), 4, "one CPU core")},
    questions=from_table("writer_positions", {"rise": rise, "gain": gain}),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one model and measure its loss over the place in the text."""
    config = PlacesConfig(**job.config)
    T, longest = config.length, config.test_length
    training, validation = load_shakespeare()
    number = {character: i for i, character in enumerate(sorted({*training, *validation}))}
    text, held_out = (torch.tensor([number[c] for c in part]) for part in (training, validation))
    held_out = held_out[: config.n_test * (longest + 1)].unflatten(0, (-1, longest + 1))
    held_out = held_out[: config.n_test]
    model = LanguageModel(config, len(number), seeded_generator(job.seed))

    def stretches(generator: torch.Generator) -> Batch:
        start = torch.randint(len(text) - T, (config.batch_size, 1), generator=generator)
        return (text[start + torch.arange(T + 1)],)

    @torch.no_grad()
    def by_place(model: nn.Module, length: int = longest) -> Tensor:
        parts = [losses(model, rows) for rows in held_out[:, : length + 1].to(job.device).split(50)]
        return torch.cat(parts).mean(dim=0).cpu()

    def summed_up(places: Tensor) -> dict[str, float]:
        ends = [0, T // 2, T, 2 * T, 4 * T]
        return {
            str(end): round(places[start:end].mean().item(), 4) for start, end in pairwise(ends)
        }

    history = train_generated(
        model,
        stretches,
        lambda model, batch: losses(model, batch[0]).mean(),
        lambda model: {"test_loss": by_place(model, T).mean().item()},
        Recipe(config.epochs, config.steps, config.learning_rate, config.warmup),
        job,
    )
    model.eval()
    places = by_place(model)
    results: dict[str, Any] = {
        "test_loss": history[-1]["test_loss"],
        "loss_by_place": summed_up(places),
        "curve": [round(x, 4) for x in places.view(-1, PLACES).mean(1).tolist()],
        "n_parameters": count_parameters(model),
    }
    if model.rotate is not None:
        trained, results["extended"] = model.rotate, {}
        for name, way in extensions(config.d_model // config.n_heads, T, longest / T).items():
            model.rotate = way  # type: ignore[assignment]
            results["extended"][name] = summed_up(by_place(model))
        model.rotate = trained
    use = DataUse(
        "tinyshakespeare",
        f"first 90 % to train on, {config.n_test} stretches of {longest + 1} of the rest to test",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    return Outcome([use], history, results)
