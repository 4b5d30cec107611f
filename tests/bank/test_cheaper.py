"""States and chosen blocks, held against the library's attention, Performer and delta rule."""

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.cheaper import (
    choose_blocks_answers,
    correcting_state_answers,
    forgetting_state,
    forgetting_state_answers,
)
from course_lib.efficient import (
    gated_delta,
    orthogonal_features,
    performer_linear_attention,
    softmax_features,
)
from course_lib.masks import causal_mask


def drawn(T, Dh, Dv):
    source = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, T, n, dtype=torch.float64, generator=source) for n in (Dh, Dh, Dv)]


def empty(q, v):
    lead, Dh = q.shape[:-2], q.shape[-1]
    return torch.zeros(*lead, Dh, v.shape[-1], dtype=q.dtype), torch.zeros(*lead, Dh, dtype=q.dtype)


# More tokens than the reference takes at once, so that its state is handed on.
@pytest.mark.parametrize("T", [1, 5, 150])
@pytest.mark.parametrize("decay", [1.0, 0.9, 0.4])
def test_it_is_attention_with_the_logarithms_of_the_products_as_scores(T, decay):
    q, k, v = drawn(T, 4, 3)
    phi_q, phi_k = (forgetting_state.features(x) for x in (q, k))
    place = torch.arange(T, dtype=q.dtype)
    # A weight that fades by a factor per step is a score that falls by a constant: as in ALiBi.
    scores = (phi_q @ phi_k.mT).log() + (place[:, None] - place) * torch.tensor(decay).log()
    want, _ = scaled_dot_product_attention(0 * q, 0 * k, v, causal_mask(T), scores)
    out, state, total = forgetting_state_answers.reference(q, k, v, *empty(q, v), decay)
    torch.testing.assert_close(out, want)
    # A query of the features alone reads state and total as they come back.
    kept = phi_k * (decay ** (T - 1 - place)).unsqueeze(-1)
    torch.testing.assert_close(state, kept.mT @ v)
    torch.testing.assert_close(total, kept.sum(-2))


def test_with_random_features_and_without_decay_it_is_the_causal_performer(monkeypatch):
    q, k, v = drawn(40, 4, 3)
    directions = orthogonal_features(8, 4, generator=torch.Generator().manual_seed(1)).double()

    def features(x):
        # One stabiliser for a head, which cancels in the average.
        return softmax_features(x, directions, query=False, eps=0.0)

    monkeypatch.setattr(forgetting_state_answers, "features", features)
    lead = torch.zeros(2, 3, 8, 3, dtype=q.dtype), torch.zeros(2, 3, 8, dtype=q.dtype)
    out, *_ = forgetting_state_answers.reference(q, k, v, *lead)
    want = performer_linear_attention(q, k, v, directions, causal=True, eps=0.0)
    torch.testing.assert_close(out, want)


def test_a_state_that_corrects_itself_is_the_librarys_gated_delta_rule():
    q, k, v = drawn(70, 4, 3)  # more than a chunk of the library
    k = torch.nn.functional.normalize(k, dim=-1)
    keep, rate = torch.rand(2, 2, 3, 70, dtype=q.dtype, generator=torch.Generator().manual_seed(1))
    out, _ = correcting_state_answers.reference(q, k, v, empty(q, v)[0], keep, rate)
    torch.testing.assert_close(out, gated_delta(q, k, v, keep, rate))


def test_with_every_block_chosen_it_is_causal_and_with_none_it_stays_in_its_block():
    q, k, v = drawn(11, 4, 3)
    place = torch.arange(11)
    own = (place[:, None] // 3 == place // 3) & causal_mask(11)
    for wanted, mask in ((9, causal_mask(11)), (0, own)):
        want, _ = scaled_dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(choose_blocks_answers.reference(q, k, v, 3, wanted), want)
