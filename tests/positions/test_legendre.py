"""Legendre polynomials against numpy's, and what the two encodings made of them are like."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import legval, legvander

from course_lib.positions.legendre import LegendrePE, legendre_polynomials, legendre_positions
from course_tests.refusals import refusals


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 400), st.integers(0, 2**31))
def test_the_recurrence_is_numpys(degree, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, 17)
    for fused in (True, False):
        ours = legendre_polynomials(torch.from_numpy(x), degree, fused=fused)
        np.testing.assert_allclose(ours.numpy(), legvander(x, degree).T, atol=1e-12)


def test_points_may_have_any_shape_and_precision():
    x = torch.rand(3, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    assert legendre_polynomials(x, 5).shape == (6, 3, 2)
    assert legendre_polynomials(x.half(), 5).dtype == torch.float16
    single = legendre_polynomials(x, 500)
    double = legendre_polynomials(x.double(), 500)
    torch.testing.assert_close(single, double.float(), rtol=0, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(1, 40))
def test_the_paper_takes_the_position_for_the_order(length, d_model):
    table = legendre_positions(length, d_model, dtype=torch.float64)
    x = -1 + 2 * np.arange(d_model) / d_model
    for n in range(1, length + 1):
        np.testing.assert_allclose(table[n - 1], legval(x, np.eye(n + 1)[n]), atol=1e-12)


def test_the_basis_takes_the_channel_for_the_order():
    table = legendre_positions(9, 5, mode="basis", dtype=torch.float64)
    np.testing.assert_allclose(table, legvander(np.linspace(-1, 1, 9), 4), atol=1e-13)
    # Its positions depend on the length of the sequence; the paper's do not.
    assert not torch.allclose(table[:5], legendre_positions(5, 5, mode="basis").double())
    paper = legendre_positions(9, 5)
    torch.testing.assert_close(paper[:5], legendre_positions(5, 5))


def test_position_zero_would_say_nothing():
    assert legendre_polynomials(torch.linspace(-1, 1, 7), 0).unique().tolist() == [1.0]


@pytest.mark.parametrize("mode", ["paper", "basis"])
def test_normalised_rows_are_as_strong_as_sinusoids(mode):
    table = legendre_positions(50, 64, mode=mode, normalise=True)
    torch.testing.assert_close(table.norm(dim=1), torch.full((50,), 32**0.5))


@pytest.mark.parametrize("mode", ["paper", "basis"])
def test_the_module_adds_the_table_of_the_sequence_at_hand(mode):
    add = LegendrePE(8, max_len=20, mode=mode)
    assert not list(add.parameters()) and not add.state_dict()
    for length in (1, 7, 20):
        x = torch.randn(2, length, 8, generator=torch.Generator().manual_seed(length))
        torch.testing.assert_close(add(x), x + legendre_positions(length, 8, mode=mode))
    double = add.double()(torch.zeros(1, 20, 8, dtype=torch.float64))
    exact = legendre_positions(20, 8, mode=mode, dtype=torch.float64)
    torch.testing.assert_close(double[0], exact, rtol=0, atol=0)


test_wrong_input_is_named = refusals(
    (lambda: legendre_polynomials(torch.zeros(3), -1), "degree is -1, wanted at least 0"),
    (lambda: legendre_polynomials(torch.zeros(3, dtype=torch.int), 2), "dtype torch.int32"),
    (lambda: legendre_positions(0, 4), "length is 0"),
    (lambda: legendre_positions(4, 4, mode="polar"), "mode is 'polar', wanted one of"),
    (lambda: LegendrePE(8, 4)(torch.zeros(1, 5, 8)), "length 5, wanted at most 4"),
    (lambda: LegendrePE(8, 4)(torch.zeros(1, 3, 6)), r"\(1, 3, 6\), wanted \(B, T, 8\)"),
)
