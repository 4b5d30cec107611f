"""The loop: it learns, repeats itself exactly, and goes on after a kill as if nothing had been."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import training
from course_lib.training import (
    accuracy,
    count_parameters,
    derive_seed,
    evaluate_accuracy,
    fit,
    load_checkpoint,
    minibatches,
    save_checkpoint,
    seeded_generator,
    train_epoch,
    warmup_cosine,
)

X = torch.randn(40, 6, generator=seeded_generator(0))
Y = (X.sum(1) > 0).long()


def make_model():
    """A model whose training is random in every way: order, dropout, moments of the optimiser."""
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3, generator=seeded_generator(0, parameter.numel()))
    return model


def batches(epoch):
    return minibatches(X, Y, batch_size=8, generator=seeded_generator(0, epoch))


def loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def evaluate(model):
    assert not model.training and not torch.is_grad_enabled()
    return {"accuracy": accuracy(model(X), Y)}


def run(model=None, *, epochs=6, batches=batches, **kwargs):
    model = model or make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
    schedule = partial(warmup_cosine, total_steps=30, warmup_steps=5)
    arguments = {"schedule": schedule, "evaluate": evaluate} | kwargs
    history = fit(model, optimizer, batches, loss, epochs=epochs, **arguments)
    return model, [{k: v for k, v in row.items() if k != "seconds"} for row in history]


def assert_same_run(one, other):
    assert one[1] == other[1]
    for name, value in one[0].state_dict().items():
        assert torch.equal(value, other[0].state_dict()[name]), name


def test_it_learns_and_reports():
    model, history = run(epochs=20, schedule=partial(warmup_cosine, total_steps=100))
    assert [row["epoch"] for row in history] == list(range(1, 21))
    assert history[-1]["loss"] < 0.6 * history[0]["loss"]
    assert history[-1]["accuracy"] > 0.9
    assert history[-1]["accuracy"] == accuracy(model.eval()(X), Y)
    assert set(history[0]) == {"epoch", "loss", "lr", "grad_norm", "accuracy"}


def test_two_runs_are_equal_and_another_seed_is_not():
    torch.manual_seed(1)
    first = run(seed=3)
    torch.manual_seed(2)
    assert_same_run(first, run(seed=3))
    assert first[1] != run(seed=4)[1]


def test_global_randomness_is_left_alone():
    model = make_model()
    before = torch.get_rng_state()
    run(model, epochs=2)
    assert torch.equal(torch.get_rng_state(), before)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("killed_in_epoch", [0, 1, 4])
def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path, killed_in_epoch):
    path = tmp_path / "deep" / "run.pt"

    def fragile(epoch):
        for i, batch in enumerate(batches(epoch)):
            if epoch == killed_in_epoch and i == 3:
                raise Killed
            yield batch

    with pytest.raises(Killed):
        run(batches=fragile, checkpoint=path)
    assert path.exists() is (killed_in_epoch > 0)
    resumed = run(checkpoint=path)
    assert_same_run(resumed, run())
    assert_same_run(run(checkpoint=path), resumed)


def test_a_kill_while_saving_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path, save = tmp_path / "run.pt", torch.save
    run(epochs=2, checkpoint=path)
    good = path.read_bytes()

    def half_a_save(state, where):
        save(state, where)
        where.write_bytes(where.read_bytes()[:100])
        raise Killed

    monkeypatch.setattr(torch, "save", half_a_save)
    with pytest.raises(Killed):
        run(checkpoint=path)
    assert path.read_bytes() == good
    monkeypatch.undo()
    assert_same_run(run(checkpoint=path), run())
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]


def test_resuming_costs_only_the_missing_epochs(tmp_path):
    asked = []

    def counted(epoch):
        asked.append(epoch)
        return batches(epoch)

    run(epochs=4, batches=counted, checkpoint=tmp_path / "run.pt")
    run(epochs=6, batches=counted, checkpoint=tmp_path / "run.pt")
    assert asked == [0, 1, 2, 3, 4, 5]


def test_checkpoints_of_another_run_are_refused(tmp_path):
    path = tmp_path / "run.pt"
    run(epochs=3, checkpoint=path)
    with pytest.raises(ValueError, match="run with seed 0, wanted seed 1"):
        run(seed=1, checkpoint=path)
    with pytest.raises(ValueError, match="holds 3 epochs, wanted at most 2"):
        run(epochs=2, checkpoint=path)


def test_a_checkpoint_comes_back_whole(tmp_path):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train_epoch(model, optimizer, batches(0), loss)
    save_checkpoint(tmp_path / "c.pt", model, optimizer, [{"loss": 0.5}], 7, seed=2)
    other = make_model()
    other_optimizer = torch.optim.SGD(other.parameters(), lr=0.2)
    state = load_checkpoint(tmp_path / "c.pt", other, other_optimizer, seed=2)
    assert state == ([{"loss": 0.5}], 7)
    assert other_optimizer.param_groups[0]["momentum"] == 0.9
    torch.testing.assert_close(other.state_dict(), model.state_dict())


def test_one_step_is_clipped_scheduled_gradient_descent():
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    row, step = train_epoch(
        model,
        optimizer,
        [torch.tensor([[10.0]])],
        lambda m, x: m(x).sum(),
        first_step=4,
        schedule={4: 0.1}.__getitem__,
        clip_norm=2.0,
    )
    assert row == {"loss": 10.0, "lr": pytest.approx(0.05), "grad_norm": 10.0} and step == 5
    assert model.weight.item() == pytest.approx(1 - 0.05 * 2.0)


def test_without_clipping_the_gradient_is_used_as_it_is():
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    train_epoch(model, optimizer, [torch.tensor([[10.0]])], lambda m, x: m(x).sum(), clip_norm=None)
    assert model.weight.item() == pytest.approx(1 - 0.5 * 10)


def test_schedule_sees_every_step_of_the_run_once(tmp_path):
    seen = []
    for epochs in (2, 3):  # the second run resumes the first
        run(
            epochs=epochs,
            schedule=lambda step: seen.append(step) or 1.0,
            checkpoint=tmp_path / "run.pt",
        )
    assert seen == list(range(15))


def test_warmup_and_cosine():
    factor = partial(warmup_cosine, total_steps=100, warmup_steps=10)
    assert [factor(s) for s in range(10)] == pytest.approx([(s + 1) / 10 for s in range(10)])
    assert factor(10) == 1 and factor(55) == pytest.approx(0.5) and factor(100) == 0
    assert factor(999) == 0 and factor(999, floor=0.1) == pytest.approx(0.1)
    later = [factor(s) for s in range(10, 101)]
    assert later == sorted(later, reverse=True)
    assert warmup_cosine(0, total_steps=5) == 1
    assert warmup_cosine(5, total_steps=5, warmup_steps=5) == 1


def test_minibatches_give_every_row_once_in_an_order_of_the_generator():
    x = torch.arange(10)
    assert torch.equal(torch.cat([b for (b,) in minibatches(x, batch_size=3)]), x)

    def rows(*path):
        generator = seeded_generator(*path)
        pairs = list(minibatches(x, -x, batch_size=3, generator=generator))
        assert all(torch.equal(a, -b) for a, b in pairs)
        return torch.cat([a for a, _ in pairs])

    assert torch.equal(rows(0, 1).sort().values, x)
    assert torch.equal(rows(0, 1), rows(0, 1))
    assert not torch.equal(rows(0, 1), rows(0, 2)) and not torch.equal(rows(0, 1), rows(1, 1))


def test_seeds_of_parts_differ():
    paths = [(0,), (0, 0), (0, 0, 0), (1,), (1, 0), (0, 1), (2, 1, 0)]
    assert len({derive_seed(*path) for path in paths}) == len(paths)


def test_accuracy_counts_places_not_batches_and_skips_padding():
    logits = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]]])
    labels = torch.tensor([[0, 0, -1]])
    assert accuracy(logits, labels) == pytest.approx(1 / 3)
    assert accuracy(logits, labels, ignore_id=-1) == pytest.approx(1 / 2)
    assert math.isnan(accuracy(logits, labels * 0 - 1, ignore_id=-1))
    model = make_model().train()
    uneven = [(X[:30], Y[:30]), (X[30:], Y[30:])]
    assert evaluate_accuracy(model, uneven) == accuracy(model.eval()(X), Y)
    model.train()
    evaluate_accuracy(model, uneven)
    assert model.training
    flipped = evaluate_accuracy(model, uneven, predict=lambda m, b: (m(b[0]), 1 - b[1]))
    assert flipped == pytest.approx(1 - evaluate_accuracy(model, uneven))


def test_frozen_parameters_do_not_count():
    model = nn.Linear(3, 4)
    model.bias.requires_grad_(False)
    assert count_parameters(model) == 12


def test_progress_is_silent_unless_asked_for(capfd):
    run(epochs=1)
    assert capfd.readouterr() == ("", "")
    run(epochs=1, progress=True)
    assert "loss" in capfd.readouterr().err


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: list(minibatches(X, Y[1:], batch_size=2)), ValueError, r"\[40, 39\] rows"),
        (lambda: list(minibatches(X, batch_size=0)), ValueError, "batch_size is 0"),
        (lambda: accuracy(X, Y[1:]), ValueError, r"\(40, 6\) and labels \(39,\)"),
        (lambda: warmup_cosine(0, total_steps=3, warmup_steps=4), ValueError, "is 4, .* 0..3"),
        (lambda: warmup_cosine(0, total_steps=3, floor=2.0), ValueError, "floor is 2.0"),
        (lambda: derive_seed(-1), ValueError, "non-negative"),
        (lambda: run(batches=lambda epoch: []), ValueError, "no batches"),
        (
            lambda: fit(
                model := make_model(),
                torch.optim.SGD(model.parameters(), lr=0.1),
                batches,
                lambda m, b: loss(m, b) * math.nan,
                epochs=1,
            ),
            FloatingPointError,
            r"mean loss is nan in steps 0\.\.4",
        ),
    ],
)
def test_errors_name_what_came_and_what_was_wanted(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_all_public_names_exist():
    assert all(hasattr(training, name) for name in training.__all__)


def test_mixed_precision_trains_in_single_precision_weights() -> None:
    x = torch.linspace(-1, 1, 64)[:, None]
    seen = []

    def loss(model: nn.Module, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        out = model(batch[0])
        seen.append(out.dtype)
        return (out.float() - 3 * batch[0]).square().mean()

    model = nn.Linear(1, 1)
    history = fit(
        model,
        torch.optim.SGD(model.parameters(), lr=0.5),
        lambda epoch: minibatches(x, batch_size=8, generator=seeded_generator(0, epoch)),
        loss,
        epochs=5,
        autocast=torch.bfloat16,
    )
    assert set(seen) == {torch.bfloat16} and model.weight.dtype == torch.float32
    assert history[-1]["loss"] < 1e-3


def test_half_precision_without_scaling_is_refused() -> None:
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="float16, wanted bfloat16"):
        train_epoch(model, optimizer, [], lambda m, b: b, autocast=torch.float16)
