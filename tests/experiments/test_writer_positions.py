"""Positions on Shakespeare: the speeds of the three extensions, and what a run keeps."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments.writer_positions import EXPERIMENT, PlacesConfig, Turning, extensions
from course_lib.positions import Rotary, rotary_frequencies

TINY_POSITIONS = replace(PlacesConfig(), n_layers=1, length=16, n_test=3, d_model=16, d_ff=8)
TINY_POSITIONS = replace(TINY_POSITIONS, batch_size=2, epochs=2, steps=2, warmup=1)


def test_turning_at_the_usual_speeds_is_a_rotary_layer():
    q, k = torch.randn(2, 1, 2, 9, 8).unbind(0)
    for got, want in zip(
        Turning(rotary_frequencies(8))(q, k), Rotary(8, max_len=9)(q, k), strict=True
    ):
        torch.testing.assert_close(got, want)


def test_each_extension_changes_the_speeds_as_its_paper_says():
    speeds = rotary_frequencies(32)
    ways = extensions(32, 64, 4)
    torch.testing.assert_close(ways["interpolation"].speeds, speeds / 4)
    base = ways["larger base"].speeds
    torch.testing.assert_close(base[[0, -1]], speeds[[0, -1]] / torch.tensor([1.0, 4.0]))
    turns, yarn = 64 * speeds / (2 * torch.pi), ways["YaRN"].speeds
    torch.testing.assert_close(yarn[turns > 4], speeds[turns > 4])
    torch.testing.assert_close(yarn[turns < 1], speeds[turns < 1] / 4)
    between = (turns > 1) & (turns < 4)
    assert between.any() and ((speeds / 4 < yarn) & (yarn < speeds))[between].all()
    assert ways["YaRN"].factor == pytest.approx(1.1386, abs=1e-4)


def test_a_run_keeps_losses_by_place_and_those_of_the_extensions(course_data, train):
    for arm in ("rotary", "alibi"):
        results = train(EXPERIMENT, asdict(replace(TINY_POSITIONS, positions=arm)), arm).results
        assert [*results["loss_by_place"]] == ["8", "16", "32", "64"] and len(results["curve"]) == 8
        assert ("extended" in results) == (arm == "rotary")
