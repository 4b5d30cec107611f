"""References of the mask exercises, which stand in no other module, against first principles."""

import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.bank.masks import attend_batch_answers as attend_batch
from course_lib.bank.masks import convert_mask_answers as convert_mask
from course_lib.bank.masks import decoder_mask_answers as decoder_mask
from course_lib.bank.masks import leak_gap_answers as leak_gap
from course_lib.bank.masks import pack_documents_answers as pack_documents
from course_lib.bank.masks import window_mask_answers as window_mask
from course_lib.bank.masks.convert_mask import CONVENTIONS
from grader.checks.exercise import find
from grader.checks.grading import grade_source


@pytest.mark.parametrize("fill", [-20.0, -100.0])
@pytest.mark.parametrize("visible, blocked, share", [(1, 1, 0.5), (3, 7, 0.01), (9, 2, 0.9)])
def test_at_the_gap_the_softmax_leaks_just_that_share(fill, visible, blocked, share):
    gap = leak_gap.reference(fill, visible, blocked, share)
    scores = torch.tensor([0.0] * visible + [gap + fill] * blocked, dtype=torch.float64)
    assert scores.softmax(0)[visible:].sum().item() == pytest.approx(share)


def test_ends_of_the_gap():
    assert leak_gap.reference(-math.inf, 2, 3, 0.5) == math.inf
    assert leak_gap.reference(-100.0, 2, 0, 0.5) == math.inf
    assert leak_gap.reference(-100.0, 0, 3, 0.5) == -math.inf


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_by_its_definition(causal):
    wanted = [[abs(i - j) <= 2 and (j <= i or not causal) for j in range(7)] for i in range(7)]
    assert window_mask.reference(7, 2, causal).tolist() == wanted


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_decoder_mask_by_its_definition(side):
    T, S, lengths = 3, 5, [0, 2, 5]
    found = decoder_mask.reference(torch.tensor(lengths), T, S, side)
    for b, n in enumerate(lengths):
        real = range(S - n, S) if side == "left" else range(n)
        wanted = [[s in real and s <= S - T + t for s in range(S)] for t in range(T)]
        assert found[b, 0].tolist() == wanted


def test_every_pair_of_conventions_comes_back_unchanged():
    keep = torch.tensor([[True] * 4, [True, False, False, False], [False] * 4])
    for source in CONVENTIONS:
        mask = convert_mask.reference(keep, "keep", source, 4)
        for target in CONVENTIONS:
            there = convert_mask.reference(mask, source, target, 4)
            back = convert_mask.reference(there, target, source, 4)
            assert torch.equal(back, mask) and back.dtype == mask.dtype


def test_a_table_for_each_sentence_reaches_all_its_heads():
    random = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 2, 2, 4, 6, generator=random)
    mask = torch.rand(2, 4, 4, generator=random) < 0.6
    mask[1, 2] = False
    out, _ = attend_batch.reference(q, k, v, mask)
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
    torch.testing.assert_close(out, wanted)


def test_a_gradient_that_fits_wrong_weights_is_not_nothing_in_an_empty_row():
    """What is added to scores lets their gradient through."""
    source = """
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e9)
    return scores.softmax(-1)
"""
    rows = grade_source(find("masks.masked_softmax"), source, "1").rows
    failed = {row.name: row.why for row in rows if row.failed}
    assert "empty row" in failed["gradients"] and "broadcasting" not in failed


def test_packed_documents_by_their_definition():
    lengths, T = [[2, 0, 3], [1, 2, 0], [0, 0, 0]], 6
    mask, positions = pack_documents.reference(torch.tensor(lengths), T)
    for b, row in enumerate(lengths):
        place = [(d, i) for d, n in enumerate(row) for i in range(n)]
        place += [(None, 0)] * (T - len(place))
        wanted = [
            [p[0] is not None and p[0] == q[0] and q[1] <= p[1] for q in place] for p in place
        ]
        assert mask[b, 0].tolist() == wanted and positions[b].tolist() == [i for _, i in place]
