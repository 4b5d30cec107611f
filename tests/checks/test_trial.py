"""Expectations take what is right however it is made, and see what is changed."""

import pytest
import torch

from course_lib.checks.answer_proxy import AnswerProxy
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, attempt


def trial(reference, answer):
    exercise = Exercise(
        id="tests.answer",
        function="answer",
        reference=reference,
        points=1,
        minutes=1,
        difficulty=1,
        chapter="none",
        example=lambda t: (),
    )
    return Trial(exercise, AnswerProxy.local({"answer": answer}), 7)


def refused(run, reference, answer):
    return attempt(run, trial(reference, answer))[1]


def refuse(kind):
    def answer(x):
        raise kind("no")

    return answer


def test_an_error_may_inherit_from_the_one_that_is_wanted():
    class ShapeError(ValueError):
        pass

    def run(t):
        t.raises(1, why="a number")

    assert refused(run, abs, refuse(ShapeError)) is None
    assert "wanted a ValueError, raised TypeError" in refused(run, abs, refuse(TypeError))
    assert "wanted a ValueError, raised Exception" in refused(run, abs, refuse(Exception))


def attend(q, k, v):
    return (q @ k.mT).softmax(-1) @ v


def attend_in_single(q, k, v):
    weights = torch.nn.functional.softmax(q @ k.mT, dim=-1, dtype=torch.float32)
    return weights.to(q.dtype) @ v


def attend_without_keys(q, k, v):
    return attend(q, k.detach(), v)


def attend_with_half_a_gradient(q, k, v):
    return attend(q, (k + k.detach()) / 2, v)


def attend_single_with_half_a_gradient(q, k, v):
    return attend_in_single(q, (k + k.detach()) / 2, v)


def attend_twice(q, k, v):
    """Wrong, with the gradient of what it computes."""
    return attend(q, k, v) * 2


def attend_twice_in_single(q, k, v):
    return attend_in_single(q, k, v) * 2


def constant(q, k, v):
    return torch.ones_like(q)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (attend, None),
        (attend_in_single, None),
        (attend_twice, None),
        (attend_twice_in_single, None),
        (attend_without_keys, "no gradient reaches argument 2"),
        (attend_with_half_a_gradient, "gradient of argument 2"),
        (attend_single_with_half_a_gradient, "gradient of argument 2"),
        (constant, "does not depend on argument 1"),
    ],
)
def test_gradients_of_what_rounds_to_single_precision_inside(answer, why):
    def run(t):
        t.gradient(*(t.randn(4, 3, dtype=torch.float64) for _ in range(3)))

    said = refused(run, attend, answer)
    assert said == why or why in said


def test_lists_and_named_arguments_are_arguments_too():
    def total(sentences, *, scale):
        return sum(map(sum, sentences)) * scale.sum()

    def spoils_a_list(sentences, *, scale):
        value = total(sentences, scale=scale)
        sentences[0].insert(0, 0)
        return value

    def spoils_a_name(sentences, *, scale):
        value = total(sentences, scale=scale)
        scale *= 2
        return value

    def run(t):
        t.unchanged([[1, 2], [3]], scale=torch.ones(2))

    assert refused(run, total, total) is None
    assert "argument 1 is not what it was" in refused(run, total, spoils_a_list)
    assert "argument 2 is not what it was" in refused(run, total, spoils_a_name)


def test_integers_of_every_width_unless_the_text_names_one():
    def narrow(n):
        return torch.arange(n, dtype=torch.int32)

    assert refused(lambda t: t.same(4), torch.arange, narrow) is None
    assert refused(lambda t: t.unchanged(4), torch.arange, narrow) is None
    said = refused(lambda t: t.same(4, dtype="exact"), torch.arange, narrow)
    assert "dtype int32, wanted int64" in said
    assert "dtype float32, wanted int64" in refused(
        lambda t: t.same(4), torch.arange, lambda n: torch.arange(n).float()
    )
    assert "dtype bool, wanted int64" in refused(
        lambda t: t.same(2), torch.arange, lambda n: torch.arange(n).bool()
    )
