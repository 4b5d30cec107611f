"""Expectations take what is right however it is made, and see what is changed."""

import pytest
import torch

from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import Exercise
from grader.checks.trial import Trial, attempt


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
    assert "expected a ValueError, raised TypeError" in refused(run, abs, refuse(TypeError))
    assert "expected a ValueError, raised Exception" in refused(run, abs, refuse(Exception))


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
        (attend_without_keys, "no gradient reaches `k`"),
        (attend_with_half_a_gradient, "gradient of `k`"),
        (attend_single_with_half_a_gradient, "gradient of `k`"),
        (constant, "does not depend on `q`"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_of_what_rounds_to_single_precision_inside(answer, why, dtype):
    def run(t):
        t.gradient(*(t.randn(4, 3, dtype=dtype) for _ in range(3)))

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
    assert "`sentences` is not what it was" in refused(run, total, spoils_a_list)
    assert "`scale` is not what it was" in refused(run, total, spoils_a_name)


def test_a_dtype_is_judged_where_the_text_names_one_and_nowhere_else():
    def whole(n):
        return torch.arange(n)

    for other in (lambda n: torch.arange(n).int(), lambda n: torch.arange(n).double()):
        assert refused(lambda t: t.same(4), whole, other) is None
        assert refused(lambda t: t.unchanged(4), whole, other) is None
        assert "expected int64" in refused(lambda t: t.same(4, exact=True), whole, other)
    half = refused(lambda t: t.same(t.randn(3)), torch.exp, lambda x: x.exp().half())
    assert "dtype float16, expected float32" in half


def test_double_precision_made_of_single_is_compared_as_single():
    def mean(x):
        return x.mean(-1)

    def double(x):
        return x.sum(-1).double() / x.shape[-1]

    def twice(t):
        x = t.randn(4, 1001)
        t.close(t.call(x.flip(-1)), t.call(x), "the mean of the same numbers")
        t.same(x)

    assert refused(twice, mean, double) is None
    exact = refused(lambda t: t.same(t.randn(2, 3), exact=True), mean, double)
    assert "dtype float64, expected float32" in exact
    # To double precision, single is not enough where the text says so, and only there.
    single = lambda x: x.float().mean(-1)  # noqa: E731
    f64 = torch.float64
    assert refused(lambda t: t.same(t.randn(2, 3, dtype=f64)), mean, single) is None
    assert refused(lambda t: t.same(t.randn(2, 3, dtype=f64), exact=True), mean, single)
