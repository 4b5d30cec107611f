"""Training with an answer to the second capstone: short replies, and texts that say how long.

Shared keys are PyTorch's, and the bytes of a cache those of the chapter.
"""

import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from course_lib.bank.transformer import decoder_step
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade
from grader.checks.protocol import weight
from grader.judge.channel import MAX_REPLIES

latent_attention = find("transformer.latent_attention")
shared_keys = find("transformer.shared_keys")
texts_that_fit = find("transformer.texts_that_fit")

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = find("transformer.decoder_step")
RIGHT = EXERCISE.alternatives[0].source


def graded(source):
    """The report on an answer, and about how many bytes each of its replies takes."""
    weights = []
    proxy = AnswerProxy.local(namespace(EXERCISE, source))
    exchange = proxy.exchange

    def weighed(frame):
        reply = exchange(frame)
        weights.append(weight(reply))
        return reply

    proxy.exchange = weighed
    return grade(EXERCISE, proxy, "7"), weights


def test_replies_of_the_longest_training_fit_into_the_judge():
    """Where all weights are equal the loss stays high, so that no step is saved."""
    report, weights = graded(RIGHT.replace("(q, k, v", "(0 * q, k, v"))
    assert report.score < EXERCISE.points and len(weights) > 2 * decoder_step.STEPS
    assert sum(weights) < 2 / 3 * MAX_REPLIES


def test_a_right_answer_ends_its_training_early():
    report, weights = graded(RIGHT)
    assert report.score == EXERCISE.points and len(weights) < 2 * decoder_step.STEPS


def test_the_assignment_says_how_long_the_training_is():
    text = (ROOT / "solutions/09_transformer/09_transformer.md").read_text(encoding="utf-8")
    assert re.findall(r"at most (\d+) steps", text) == [str(decoder_step.STEPS)]


@pytest.mark.parametrize(("H", "G"), [(4, 4), (6, 2), (6, 1)])
@pytest.mark.parametrize(("T", "S"), [(1, 5), (3, 5), (4, 4)])
def test_shared_keys_are_those_of_pytorch(H, G, T, S):
    source = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, n, m, 8, generator=source) for n, m in ((H, T), (G, S)))
    v = torch.randn(2, G, S, 6, generator=source)
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=past, enable_gqa=True)
    torch.testing.assert_close(shared_keys.reference(q, k, v), want)


@pytest.mark.parametrize(("T", "S"), [(1, 5), (3, 5), (4, 4)])
def test_latents_attend_as_the_keys_that_pytorch_is_given(T, S):
    source = torch.Generator().manual_seed(0)
    shapes = (2, 3, T, 4), (2, 3, T, 2), (2, S, 6), (2, S, 2), (3, 4, 6), (3, 5, 6)
    given = [torch.randn(shape, generator=source) for shape in shapes]
    q, turned_q, latents, turned_k, U_k, U_v = given
    k = torch.cat([latents[:, None] @ U_k.mT, turned_k[:, None].expand(-1, 3, -1, -1)], dim=-1)
    q, v = torch.cat([q, turned_q], dim=-1), latents[:, None] @ U_v.mT
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=past)
    torch.testing.assert_close(latent_attention.reference(*given), want)


def test_a_token_takes_the_bytes_that_the_chapter_counts():
    page = (ROOT / "book/chapters/09_cache.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"= ([\d{},]+)\$ bytes, which is 512 KiB", page)
    bill = texts_that_fit.reference(32 * 2**30, 0, 32, 32, 32, 128, 4096)
    assert bill == (int(re.sub(r"\D", "", told)), 16)
    assert [texts_that_fit.reference(2**30, 0, 32, 32, n, 128, 1)[0] // 2**10 for n in (8, 1)] == [
        128,
        16,
    ]
