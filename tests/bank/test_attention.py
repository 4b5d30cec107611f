"""References of the attention exercises, which stand in no other module, against a softmax."""

import pytest
import torch

from course_lib.bank.attention import qk_scale_answers as qk_scale


@pytest.mark.parametrize("n_keys, weight", [(2, 0.6), (8, 0.51), (1000, 0.99)])
def test_with_the_scale_one_key_gets_just_the_weight(n_keys, weight):
    scale = qk_scale.reference(n_keys, weight)
    scores = torch.tensor([scale] + [-scale] * (n_keys - 1), dtype=torch.float64)
    assert scores.softmax(0)[0].item() == pytest.approx(weight)


def test_equal_weights_need_no_scale():
    assert [qk_scale.reference(n, w) for n, w in ((1, 0.9), (4, 0.25), (4, 0.1))] == [0, 0, 0]
