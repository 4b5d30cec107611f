"""InfoNCE: known values, its temperature, and two towers that learn which picture is meant."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.multimodal import (
    DualEncoder,
    DualEncoderConfig,
    ImageTower,
    Temperature,
    TextTower,
    contrastive_loss,
    pair_similarities,
    retrieval_accuracy,
)
from course_tests.refusals import refusals

CONFIG = DualEncoderConfig(image_size=8, patch_size=4, n_words=12, max_len=6, end=11)


def embeddings(n, d=5, seed=0):
    return torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.floats(0.1, 20), st.integers(0, 99))
def test_the_loss_is_what_its_definition_says(n, factor, seed):
    images, texts = embeddings(n, seed=seed)
    s = pair_similarities(images, texts, factor)
    rows = sum(-s[i, i] + s[i].logsumexp(0) for i in range(n)) / n
    columns = sum(-s[i, i] + s[:, i].logsumexp(0) for i in range(n)) / n
    torch.testing.assert_close(contrastive_loss(s), (rows + columns) / 2)
    torch.testing.assert_close(contrastive_loss(s), contrastive_loss(s.T))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(contrastive_loss(s[order][:, order]), contrastive_loss(s))


def test_knowing_nothing_costs_the_logarithm_of_the_batch():
    for n in (2, 64):
        assert contrastive_loss(torch.full((n, n), 3.0)).item() == pytest.approx(math.log(n))


def test_only_directions_count():
    images, texts = embeddings(4)
    torch.testing.assert_close(
        pair_similarities(7 * images, texts / 3), pair_similarities(images, texts)
    )


def test_the_factor_stops_at_its_ceiling_and_comes_back_only_when_clamped():
    temperature = Temperature()
    assert temperature().item() == pytest.approx(1 / 0.07, rel=1e-5)
    with torch.no_grad():
        temperature.log_factor.fill_(math.log(200.0))
    assert temperature().item() == pytest.approx(100, rel=1e-5)
    (stuck,) = torch.autograd.grad(temperature(), temperature.log_factor)
    assert stuck == 0
    temperature.clamp_()
    (free,) = torch.autograd.grad(temperature(), temperature.log_factor)
    assert free.item() == pytest.approx(100, rel=1e-4)


def test_ties_are_no_success():
    assert retrieval_accuracy(torch.zeros(5, 5)) == 0
    assert retrieval_accuracy(torch.zeros(5, 5), k=5) == 1
    assert retrieval_accuracy(torch.eye(5)) == 1


def test_the_text_is_read_at_its_first_end_whatever_is_behind():
    tower = TextTower(CONFIG, generator=torch.Generator().manual_seed(0)).eval()
    texts = torch.tensor([[3, 4, 11, 0, 0, 0], [3, 4, 11, 5, 11, 7], [3, 4, 5, 11, 0, 0]])
    out = tower(texts)
    torch.testing.assert_close(out[0], out[1])
    assert not torch.allclose(out[0], out[2], atol=1e-3)
    torch.testing.assert_close(tower(texts[:1, :3])[0], out[0])


IMAGES, TEXTS = embeddings(3)
MODEL = DualEncoder(CONFIG)
PICTURE = torch.zeros(1, 3, 8, 8)
test_wrong_input_is_named = refusals(
    (lambda: pair_similarities(IMAGES, TEXTS[:, :2]), "\\(3, 2\\)"),
    (lambda: contrastive_loss(torch.zeros(2, 3)), r"wanted \(N, N\)"),
    (lambda: retrieval_accuracy(torch.zeros(2, 3)), r"wanted \(N, N\)"),
    (lambda: retrieval_accuracy(torch.zeros(2, 2), k=3), "k is 3"),
    (lambda: Temperature(start=200.0), "start is 200"),
    (lambda: MODEL(torch.zeros(1, 3, 9, 9), torch.tensor([[11]])), "wanted \\(B, 3, 8, 8\\)"),
    (lambda: MODEL(torch.zeros(1, 3, 8, 8), torch.full((1, 7), 11)), "T at most 6"),
    (lambda: DualEncoderConfig(patch_size=5), "patch_size is 5"),
    (lambda: DualEncoderConfig(text_n_heads=5), "text_n_heads is 5"),
    (lambda: DualEncoderConfig(end=100), "end is 100"),
    (lambda: MODEL.image_tower(PICTURE.byte()), "torch.uint8, wanted a floating-point one"),
    (lambda: ImageTower(CONFIG)(PICTURE.byte()), "torch.uint8, wanted a floating-point one"),
)


def test_an_encoder_that_says_nothing_finds_nothing():
    similarities = torch.eye(3)
    similarities[1] = math.nan
    assert retrieval_accuracy(similarities) == pytest.approx(2 / 3)
    assert retrieval_accuracy(torch.full((3, 3), math.nan)) == 0
