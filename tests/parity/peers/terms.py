"""Positions inside of scores and values: Legendre, the four terms."""

from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.positions.legendre import legendre_polynomials
from course_lib.positions.terms import (
    FourTermAttention,
)
from course_tests.parity.peers.contract import Lambda, Mechanism, Reference, built, drawn


def _points(generator: Generator, *, d_model: int, **sizes: int) -> tuple[Tensor, ...]:
    return (torch.rand(d_model, generator=generator) * 2 - 1,)


def _numpy_legendre(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from numpy.polynomial.legendre import legvander

    degree: int = module.fixed["degree"]
    # It computes in the precision that it is given; the course computes in double.
    points = inputs[0].double().numpy()
    return Reference(lambda x: torch.from_numpy(legvander(x, degree)).T, (points,))


MECHANISMS = (
    Mechanism(
        name="legendre",
        source="Aggarwal (2024), equations 14 and 15",
        build=built(partial(Lambda, legendre_polynomials), "degree=length"),
        inputs=_points,
        tiny={"length": 12, "d_model": 9},
        small=dict(length=64, d_model=64),
        large=dict(length=512, d_model=512),
        peer=_numpy_legendre,
        peer_name="numpy.polynomial.legendre.legvander",
        trains=False,
        note="a table of positions, nothing of which is trained",
    ),
    Mechanism(
        name="four_terms",
        home=__name__,
        source="Ke et al. (2021), section 3.1; the ablation report, section 2.3",
        build=built(FourTermAttention, "d_model", "n_heads"),
        inputs=drawn("batch length d_model", "length d_model"),
        tiny={"batch": 2, "length": 5, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, length=64, d_model=128, n_heads=4),
        large=dict(batch=2, length=512, d_model=512, n_heads=8),
    ),
)
