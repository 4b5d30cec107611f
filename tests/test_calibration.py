import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.calibration import expected_calibration_error, fit_temperature, reliability


def random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_bins_hold_all_answers_and_the_means_of_their_own() -> None:
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


def test_who_answers_by_its_own_probabilities_is_calibrated_until_they_are_sharpened() -> None:
    logits = 2 * torch.randn(20_000, 5, generator=random())
    labels = torch.multinomial(logits.softmax(-1), 1, generator=random(1))[:, 0]
    assert expected_calibration_error(logits, labels) < 0.015
    assert expected_calibration_error(3 * logits, labels) > 0.1
    assert fit_temperature(3 * logits, labels) == pytest.approx(3, rel=0.05)


def test_a_temperature_is_where_the_loss_is_lowest() -> None:
    logits = 3 * torch.randn(200, 3, generator=random())
    labels = torch.randint(3, (200,), generator=random(1)).where(
        torch.rand(200, generator=random(2)) < 0.4, logits.argmax(-1)
    )
    best = fit_temperature(logits, labels)
    loss = [F.cross_entropy(logits / t, labels).item() for t in (0.97 * best, best, 1.03 * best)]
    assert loss[1] == min(loss)


def test_edges_belong_to_the_lower_bin_and_certainty_to_the_last() -> None:
    half = torch.tensor([[0.0, 0.0]])
    assert reliability(half, torch.tensor([0]), 2).counts.tolist() == [1, 0]
    sure = torch.tensor([[500.0, 0.0]])
    assert reliability(sure, torch.tensor([0]), 10).counts.tolist() == [0] * 9 + [1]


def test_nothing_is_not_a_number_and_shapes_are_checked() -> None:
    assert math.isnan(expected_calibration_error(torch.zeros(0, 3), torch.zeros(0).long()))
    with pytest.raises(ValueError, match="logits have shape"):
        reliability(torch.zeros(3, 2), torch.zeros(2).long())
    with pytest.raises(ValueError, match="n_bins is 0"):
        reliability(torch.zeros(3, 2), torch.zeros(3).long(), 0)


@pytest.mark.parametrize(
    "logits",
    [torch.zeros(0, 3), *(torch.tensor([[x, 0.0, 1.0]]) for x in (math.nan, -math.inf, math.inf))],
)
def test_a_temperature_is_not_fitted_to_nothing(logits):
    with pytest.raises(ValueError, match=r"are empty|hold 1 NaN|loss is (inf|nan)"):
        fit_temperature(logits, torch.zeros(len(logits), dtype=torch.long))
