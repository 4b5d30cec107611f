"""Copying, reversing, matching brackets: the drawn tasks, the arms and the rule."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from course_lib.experiments import SHIPPED_RESULTS, load_record, order_tasks
from course_lib.experiments.order_tasks import ASK, FIRST_WORD, OrderRun, draw, right
from course_lib.experiments.questions import answers
from course_lib.experiments.registry import Job
from course_lib.training import seeded_generator

KEPT = load_record(SHIPPED_RESULTS / "order-tasks" / "copy-forwards-cpu-0.json")

TINY = replace(
    order_tasks.CPU, length=4, n_words=6, n_test=8, d_model=8, n_heads=2, d_ff=8, n_layers=1,
    batch_size=4, epochs=2, steps=2, warmup=1,
)  # fmt: skip


def matches(brackets: list[int]) -> bool:
    """The rule for brackets, written the slow way."""
    open_ = 0
    for bracket in brackets:
        open_ += 1 if bracket == FIRST_WORD else -1
        if open_ < 0:
            return False
    return open_ == 0


@pytest.mark.parametrize("arm", order_tasks.ARMS)
def test_every_arm_is_trained_and_measured(arm: str, tmp_path: Path) -> None:
    config = {**asdict(TINY), **order_tasks.ARMS[arm]}
    job = Job(arm, config, 0, torch.device("cpu"), tmp_path / "c.pt", False)
    outcome = order_tasks.EXPERIMENT.train(job)
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    assert outcome.results["accuracy"] == outcome.metrics[-1]["accuracy"]
    again = order_tasks.EXPERIMENT.train(job)
    assert again.data == outcome.data and again.results == outcome.results


def test_brackets_match_if_they_say_so_and_counting_them_says_nothing() -> None:
    tokens, answers = draw(OrderRun("brackets", length=5), 1000, seeded_generator(3))
    assert (tokens[:, -1] == ASK).all() and (answers[:, :-1] == -100).all()
    said = (answers[:, -1] - FIRST_WORD).bool().tolist()
    assert said == [matches(row) for row in tokens[:, :-1].tolist()]
    assert 0.45 < sum(said) / 1000 < 0.55
    assert ((tokens == FIRST_WORD).sum(dim=1) == 5).all()


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_words_are_asked_for_in_order(task: str) -> None:
    both, wanted = draw(OrderRun(task, length=6), 50, seeded_generator(0))  # type: ignore[arg-type]
    tokens, answers = draw(OrderRun(task, causal=True, length=6), 50, seeded_generator(0))  # type: ignore[arg-type]
    assert torch.equal(tokens[:, :6], both) and (tokens[:, 6] == ASK).all()
    assert torch.equal(answers[:, 6:], wanted) and torch.equal(tokens[:, 7:], wanted[:, :-1])
    assert torch.equal(wanted, both if task == "copy" else both.flip(1))
    assert all(len(set(row)) == 6 for row in both.tolist())


def test_only_what_is_asked_counts() -> None:
    tokens, answers = draw(OrderRun(causal=True, length=4), 10, seeded_generator(1))

    class Knows(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            said = torch.nn.functional.one_hot(answers.clamp(min=0), 20).float()
            said[:5] = 0
            return said

    assert right(Knows(), tokens, answers) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"task": "sort"}, "'sort'"),
        ({"length": 1}, "length is 1"),
        ({"length": 18}, "is 18, wanted 2 to n_words 16"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OrderRun(**changed)  # type: ignore[arg-type]


def test_a_reader_of_both_ways_that_is_told_nothing_cannot_tell_brackets() -> None:
    config = replace(TINY, task="brackets", positions="none")
    model = order_tasks.build(config, 0)
    tokens, _ = draw(config, 40, seeded_generator(5))
    said = model(tokens)[:, -1]
    assert torch.allclose(said, said[:1].expand_as(said), atol=1e-5)
    told = order_tasks.build(replace(config, positions="sinusoidal"), 0)(tokens)[:, -1]
    assert not torch.allclose(told, told[:1].expand_as(told), atol=1e-3)


def test_the_rule_asks_each_task_of_each_reader() -> None:
    records = [
        replace(KEPT, arm=arm, seed=seed,
                results={"accuracy": 0.9 - 0.4 * arm.endswith("none") - 0.01 * seed})
        for arm in order_tasks.ARMS
        for seed in range(3)
    ]  # fmt: skip
    found = answers(order_tasks.QUESTIONS, records)
    assert len(found) == 6 and all(c.verdict.outcome == "holds" for c in found)
    assert [c.key for c in found if c.control] == ["reverse both ways"]
    assert {c.verdict.n for c in found} == {3}
    assert answers(order_tasks.QUESTIONS, records[:3]) == []
