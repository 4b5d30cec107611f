"""Roles of a trained reader's heads, and how many of them it can spare."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_lib.attention_maps import (
    pair_excess,
    relation_baseline,
    silencing_curve,
    spare_one_by_one,
)
from course_lib.data.text import RELATIONS, TextBatch
from course_lib.training import seeded_generator

ORDERS = ("least worth now", "least worth alone", "random", "most worth alone")
"""In which orders heads are silenced."""
_N_RANDOM = 10

Measure = Callable[[Tensor], float]


def head_name(head: int, n_heads: int) -> str:
    """Name a head by its layer and its place there, both counted from 1."""
    return f"{head // n_heads + 1}.{head % n_heads + 1}"


def silencing(
    choosing: Measure, loss: Measure, known: Measure, shape: tuple[int, int], seed: int
) -> dict[str, Any]:
    """Silence the heads ``(L, H)`` of a model in four orders, and in pairs.

    Who is silenced is chosen by one loss, and what is lost is measured by the other, on other
    sentences: the head that looks most useless among many is so by luck in part. ``random`` is the
    mean of 10 orders.
    """
    n_heads = shape[0] * shape[1]
    whole = choosing(torch.ones(shape))
    alone = [choosing(1 - one.view(shape)) - whole for one in torch.eye(n_heads)]
    by_worth = sorted(range(n_heads), key=lambda head: alone[head])
    draws = seeded_generator(seed, 10)
    orders = {
        "least worth now": [spare_one_by_one(choosing, shape)],
        "least worth alone": [by_worth],
        "random": [torch.randperm(n_heads, generator=draws).tolist() for _ in range(_N_RANDOM)],
        "most worth alone": [by_worth[::-1]],
    }

    def follow(measure: Measure) -> dict[str, dict[str, float]]:
        curves = {}
        for name in ORDERS:
            found = [silencing_curve(measure, order, shape) for order in orders[name]]
            means = torch.tensor(found, dtype=torch.float64).mean(dim=0)
            curves[name] = {str(n): round(value, 4) for n, value in enumerate(means.tolist())}
        return curves

    losses = follow(loss)
    first = losses["least worth alone"]
    excess = pair_excess(loss, shape)
    i, j = sorted(divmod(int(excess.argmax()), n_heads))
    return {
        "least_head_worth": round(first["1"] - first["0"], 4),
        "pair_excess": round(float(excess.sum()) / (n_heads * (n_heads - 1)), 4),
        "largest_pair_excess": round(float(excess.max()), 4),
        "understudies": f"{head_name(i, shape[1])}, {head_name(j, shape[1])}",
        "loss_without": losses,
        "known_without": follow(known),
    }


def best_roles(roles: Mapping[str, Tensor], batch: TextBatch) -> dict[str, dict[str, Any]]:
    """Best head of each role, of the scores ``(L, H)`` of all heads by role.

    ``role_of_counting``: by relation, of a head that always looks as far.
    """
    named = {name: score for name, score in roles.items() if name != "entropy"}
    n_heads = roles["entropy"].shape[1]
    return {
        "role_of_best": {name: round(float(score.max()), 4) for name, score in named.items()},
        "best_head": {
            name: head_name(int(score.argmax()), n_heads) for name, score in named.items()
        },
        "role_of_counting": {
            name: round(relation_baseline(batch.relations[name])[0], 4) for name in RELATIONS
        },
    }
