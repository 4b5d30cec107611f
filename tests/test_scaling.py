"""Scores before and after the softmax: their size, and how far probabilities can be trusted."""

import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.calibration import expected_calibration_error, fit_temperature, reliability
from course_lib.scaling import saturation_lead, score_moments, softmax_gradient
from course_tests.refusals import refusals


@pytest.mark.parametrize("correlation", [-1.0, -0.4, 0.0, 0.7, 1.0])
@pytest.mark.parametrize("scale", [None, 0.3, -0.3])
def test_moments_are_those_of_samples(correlation, scale):
    draw = torch.Generator().manual_seed(1)
    d_head, n = 24, 100_000
    q, other = torch.randn(2, n, d_head, generator=draw, dtype=torch.float64)
    k = correlation * q + math.sqrt(1 - correlation**2) * other
    scores = (2.0 * q * (0.5 * k)).sum(-1) * (d_head**-0.5 if scale is None else scale)
    mean, std = score_moments(d_head, 2.0, 0.5, correlation, scale=scale)
    # Five standard errors; that of a standard deviation is widened by the excess kurtosis.
    assert scores.mean().item() == pytest.approx(mean, abs=5 * std / math.sqrt(n))
    assert scores.std().item() == pytest.approx(std, rel=5 / math.sqrt(n))


def test_scaled_independent_scores_have_variance_one_at_any_width():
    for d_head in (1, 7, 64, 1024):
        assert score_moments(d_head) == (0.0, pytest.approx(1.0))


def test_softmax_gradient_is_autograds():
    draw = torch.Generator().manual_seed(2)
    scores = torch.randn(2, 3, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    g = torch.randn(2, 3, 5, generator=draw, dtype=torch.float64)
    weights = scores.softmax(-1)
    (want,) = torch.autograd.grad(weights, scores, g)
    torch.testing.assert_close(softmax_gradient(weights.detach(), g), want)


@pytest.mark.parametrize("n_keys", [2, 3, 64, 5000])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 1e-6])
def test_at_the_lead_the_slope_has_fallen_to_the_share(n_keys, share):
    lead = saturation_lead(n_keys, share)
    scores = torch.zeros(n_keys, dtype=torch.float64)
    scores[0] = lead
    scores.requires_grad_()
    (slope,) = torch.autograd.grad(scores.softmax(-1)[0], scores)
    assert slope[0].item() == pytest.approx(share / 4, rel=1e-6)
    assert scores.softmax(-1)[0].item() >= 0.5 - 1e-9


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def test_bins_hold_all_answers_and_the_means_of_their_own():
    logits = 2 * torch.randn(500, 4, generator=random())
    labels = torch.randint(4, (500,), generator=random(1))
    found = reliability(logits, labels, 7)
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    assert int(found.counts.sum()) == 500
    for m in range(7):
        inside = (confidence > m / 7) & (confidence <= (m + 1) / 7)
        assert int(found.counts[m]) == int(inside.sum())
        if inside.any():
            assert found.confidence[m] == pytest.approx(float(confidence[inside].mean()))
            assert found.accuracy[m] == pytest.approx(float(right[inside].mean()))
        else:
            assert found.confidence[m] == found.accuracy[m] == 0


def test_who_answers_by_its_own_probabilities_is_calibrated_until_they_are_sharpened():
    logits = 2 * torch.randn(20_000, 5, generator=random())
    labels = torch.multinomial(logits.softmax(-1), 1, generator=random(1))[:, 0]
    assert expected_calibration_error(logits, labels) < 0.015
    assert expected_calibration_error(3 * logits, labels) > 0.1
    assert fit_temperature(3 * logits, labels) == pytest.approx(3, rel=0.05)


def test_a_temperature_is_where_the_loss_is_lowest():
    logits = 3 * torch.randn(200, 3, generator=random())
    labels = torch.randint(3, (200,), generator=random(1)).where(
        torch.rand(200, generator=random(2)) < 0.4, logits.argmax(-1)
    )
    best = fit_temperature(logits, labels)
    loss = [F.cross_entropy(logits / t, labels).item() for t in (0.97 * best, best, 1.03 * best)]
    assert loss[1] == min(loss)


def test_edges_belong_to_the_lower_bin_and_certainty_to_the_last():
    half = torch.tensor([[0.0, 0.0]])
    assert reliability(half, torch.tensor([0]), 2).counts.tolist() == [1, 0]
    sure = torch.tensor([[500.0, 0.0]])
    assert reliability(sure, torch.tensor([0]), 10).counts.tolist() == [0] * 9 + [1]


def test_the_calibration_error_of_nothing_is_no_number():
    assert math.isnan(expected_calibration_error(torch.zeros(0, 3), torch.zeros(0).long()))


test_what_cannot_be_is_refused = refusals(
    (lambda: score_moments(0), "wanted"),
    (lambda: score_moments(4, q_std=-1.0), "wanted"),
    (lambda: score_moments(4, correlation=1.1), "wanted"),
    (lambda: saturation_lead(1, 0.1), "wanted"),
    (lambda: saturation_lead(2, 0.0), "wanted"),
    (lambda: saturation_lead(2, 1.5), "wanted"),
    (lambda: softmax_gradient(torch.ones(2, 3), torch.ones(1, 3)), "wanted the same"),
    (lambda: reliability(torch.zeros(3, 2), torch.zeros(2).long()), "logits have shape"),
    (lambda: reliability(torch.zeros(3, 2), torch.zeros(3).long(), 0), "n_bins is 0"),
)


@pytest.mark.parametrize(
    "logits",
    [torch.zeros(0, 3), *(torch.tensor([[x, 0.0, 1.0]]) for x in (math.nan, -math.inf, math.inf))],
)
def test_a_temperature_is_not_fitted_to_nothing(logits):
    with pytest.raises(ValueError, match=r"are empty|hold 1 NaN|loss is (inf|nan)"):
        fit_temperature(logits, torch.zeros(len(logits), dtype=torch.long))
