"""The loop: it learns, repeats itself exactly, and goes on after a kill as if nothing had been."""

import contextlib
import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import nn

from course_lib.informer import ProbSparse
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import (
    accuracy,
    checkpoints,
    count_parameters,
    derive_seed,
    fit,
    load_checkpoint,
    minibatches,
    recomputing,
    save_checkpoint,
    saved_bytes,
    seeded_generator,
    train_epoch,
    warmup_cosine,
)
from course_lib.transformer import DecoderOnly, DecoderOnlyConfig, EncoderDecoder, TransformerConfig
from course_tests.refusals import refusals

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
    model = make_model()
    before = torch.get_rng_state()
    assert_same_run(first, run(model, seed=3))
    assert torch.equal(torch.get_rng_state(), before)
    assert first[1] != run(seed=4)[1]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("killed_in_epoch", [0, 1, 4])
def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path, killed_in_epoch):
    path = tmp_path / "deep" / "run.safetensors"

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
    path, save = tmp_path / "run.safetensors", checkpoints.save_file
    run(epochs=2, checkpoint=path)
    good = path.read_bytes()

    def half_a_save(tensors, where, text):
        save(tensors, where, text)
        where.write_bytes(where.read_bytes()[:100])
        raise Killed

    monkeypatch.setattr(checkpoints, "save_file", half_a_save)
    with pytest.raises(Killed):
        run(checkpoint=path)
    assert path.read_bytes() == good
    monkeypatch.undo()
    assert_same_run(run(checkpoint=path), run())
    assert [p.name for p in tmp_path.iterdir()] == ["run.safetensors"]


def test_checkpoints_of_another_run_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    run(epochs=3, checkpoint=path)
    with pytest.raises(ValueError, match="run with seed 0, wanted seed 1"):
        run(seed=1, checkpoint=path)
    with pytest.raises(ValueError, match="holds 3 epochs, wanted at most 2"):
        run(epochs=2, checkpoint=path)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (torch.tensor(0.9), torch.tensor(0.999))])
def test_settings_that_are_tensors_come_back_as_tensors(betas, tmp_path):
    def optimizer_of(model, rate):
        return torch.optim.AdamW(model.parameters(), lr=rate, betas=betas, foreach=False)

    model = make_model()
    optimizer, path = optimizer_of(model, torch.tensor(0.1)), tmp_path / "c.safetensors"
    fit(model, optimizer, batches, loss, epochs=1, checkpoint=path)
    other = optimizer_of(model, torch.tensor(0.7))
    load_checkpoint(path, model, other, seed=0)
    (saved,), (loaded,) = optimizer.param_groups, other.param_groups
    assert loaded == saved and isinstance(loaded["lr"], torch.Tensor)


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


def test_schedule_sees_every_step_of_the_run_once(tmp_path):
    seen = []
    for epochs in (2, 3):  # the second run resumes the first
        run(
            epochs=epochs,
            schedule=lambda step: seen.append(step) or 1.0,
            checkpoint=tmp_path / "run.safetensors",
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
    logits = torch.tensor([[math.nan] * 3, [math.nan, math.nan, 5.0]])
    assert accuracy(logits, torch.tensor([0, 2])) == 0


GPT = DecoderOnlyConfig(vocab_size=9, d_model=8, n_heads=2, d_ff=8, n_layers=2)
PAIR = TransformerConfig(
    source_vocab_size=9, target_vocab_size=9, d_model=8, n_heads=2, d_ff=8, n_layers=1
)
SEQ2SEQ = Seq2SeqConfig(source_vocab_size=9, target_vocab_size=9, d_model=8)
PAST, LENGTHS = torch.tensor([[3, 4]]), torch.tensor([2])


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda: DecoderOnly(GPT), lambda m: m.generate(PAST, max_len=2)),
        (lambda: EncoderDecoder(PAIR), lambda m: m.generate(PAST, LENGTHS, max_len=2)),
        (lambda: Seq2Seq(SEQ2SEQ), lambda m: m.generate(PAST, LENGTHS, max_len=2)),
    ],
)
def test_each_part_is_in_its_own_mode_after_it_was_measured_or_has_generated(make, use):
    model = make().train()
    next(model.children()).eval()
    before = [part.training for part in model.modules()]
    use(model)
    assert [part.training for part in model.modules()] == before


@pytest.mark.parametrize("evaluate", [None, lambda model: {}])
def test_a_part_that_is_frozen_stays_as_it_is_while_the_rest_trains(evaluate):
    model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    model[1].eval()
    run(model, epochs=2, evaluate=evaluate)
    assert (model[1].running_mean == 0).all() and model[1].num_batches_tracked == 0
    run(model.eval(), epochs=1, evaluate=evaluate)  # a model that was only measured trains whole
    assert model[1].num_batches_tracked > 0


def test_frozen_parameters_do_not_count():
    model = nn.Linear(3, 4)
    model.bias.requires_grad_(False)
    assert count_parameters(model) == 12


def test_progress_is_silent_unless_asked_for(capfd):
    run(epochs=1)
    assert capfd.readouterr() == ("", "")
    run(epochs=1, progress=True)
    assert "loss" in capfd.readouterr().err


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: list(minibatches(X, Y[1:], batch_size=2)), r"\[40, 39\] rows"),
    (lambda: list(minibatches(X, batch_size=0)), "batch_size is 0"),
    (lambda: accuracy(X, Y[1:]), r"\(40, 6\) and labels \(39,\)"),
    (lambda: warmup_cosine(0, total_steps=3, warmup_steps=4), "is 4, .* 0..3"),
    (lambda: warmup_cosine(0, total_steps=3, floor=2.0), "floor is 2.0"),
    (lambda: warmup_cosine(-5, total_steps=10), "step is -5, wanted at least 0"),
    (lambda: run(autocast=torch.float16), "float16, wanted bfloat16"),
    (lambda: derive_seed(-1), "non-negative"),
    (lambda: run(batches=lambda epoch: []), "no batches"),
    (lambda: run(accumulate=0), "accumulate is 0, wanted at least 1"),
    (lambda: run(accumulate=2, weigh=lambda b: 0), r"weigh \[0.0, 0.0\], wanted a sum above 0"),
    (lambda: run(accumulate=2, weigh=lambda b: len(b[0]) - 9), "none below"),
    (lambda: run(recompute=[nn.LSTM]), "Sequential has no part to recompute, wanted LSTM"),
)


def test_mixed_precision_trains_in_single_precision_weights():
    x = torch.linspace(-1, 1, 64)[:, None]
    seen = []

    def loss(model, batch):
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


def gradients_of(model, pieces, **kwargs):
    model.zero_grad()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    row, step = train_epoch(model, optimizer, pieces, loss, clip_norm=None, **kwargs)
    return [parameter.grad.clone() for parameter in model.parameters()], row, step


def test_a_batch_in_uneven_pieces_gives_the_gradient_of_the_whole():
    model = make_model()
    model[2].p = 0.0
    whole, row, _ = gradients_of(model, [(X, Y)])
    pieces = [(X[:25], Y[:25]), (X[25:30], Y[25:30]), (X[30:], Y[30:])]
    summed, same_row, step = gradients_of(model, pieces, accumulate=3, weigh=lambda b: len(b[0]))
    assert step == 1
    torch.testing.assert_close(summed, whole, rtol=1e-5, atol=1e-7)
    assert same_row == pytest.approx(row)
    # A mean of means is another gradient, and so is one with dropout of its own.
    mean_of_means, _, _ = gradients_of(model, pieces, accumulate=3)
    assert (mean_of_means[0] - whole[0]).abs().max() > 0.01


def test_the_last_step_may_have_fewer_pieces_and_counts_whole():
    model = make_model()
    model[2].p = 0.0
    pieces = [(X[i : i + 8], Y[i : i + 8]) for i in range(0, 40, 8)]
    last, _, step = gradients_of(model, pieces, accumulate=3)
    assert step == 2
    alone, _, _ = gradients_of(model, [(X[24:], Y[24:])])
    torch.testing.assert_close(last, alone, rtol=1e-5, atol=1e-7)


def test_a_piece_of_padding_alone_counts_for_nothing():
    model, padding = make_model(), (X[:8], torch.full((8,), -100))
    model[2].p = 0.0
    both, row, _ = gradients_of(
        model, [padding, (X, Y)], accumulate=2, weigh=lambda b: float((b[1] >= 0).sum())
    )
    alone, same_row, _ = gradients_of(model, [(X, Y)])
    assert row == same_row and all(map(torch.equal, both, alone))


def spoiled_from(first_bad, factor=math.nan):
    seen = []

    def spoiled(model, batch):
        seen.append(1)
        return loss(model, batch) * (factor if len(seen) > first_bad else 1.0)

    return spoiled


def stopped(bad_loss, **kwargs):
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
    with pytest.raises(FloatingPointError) as error:
        fit(model, optimizer, batches, bad_loss, epochs=6, **kwargs)
    return model, str(error.value)


def test_a_loss_that_is_no_number_stops_the_run_at_its_step(tmp_path):
    path = tmp_path / "run.safetensors"
    model, said = stopped(spoiled_from(12), checkpoint=path, autocast=torch.bfloat16)
    assert "loss is nan at step 12, in epoch 3 of a run with seed 0, learning rate 0.03" in said
    assert f"the last good checkpoint is {path}, after epoch 2" in said
    assert "autocast torch.bfloat16, accumulate 1" in said
    assert all(torch.isfinite(p).all() for p in model.parameters())
    other = make_model()
    optimizer = torch.optim.AdamW(other.parameters())
    history, step = load_checkpoint(path, other, optimizer, seed=0)
    assert (len(history), step) == (2, 10)
    assert all(torch.isfinite(p).all() for p in other.parameters())


def test_a_gradient_that_is_not_finite_stops_it_too(tmp_path):
    def steep(model, batch):
        weight = model[0].weight
        return loss(model, batch) + (weight - weight.detach()).sum().sqrt()  # 0, infinitely steep

    _, said = stopped(steep, checkpoint=tmp_path / "run.safetensors")
    assert "norm of the gradient is inf at step 0" in said
    assert "no good checkpoint yet" in said
    assert "no checkpoint was asked for" in stopped(spoiled_from(0))[1]


def test_a_gpu_is_looked_at_every_50_steps_and_the_step_is_still_named(monkeypatch):
    from course_lib.training import loop

    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    looks = []
    look = loop._stop_unless_finite

    def counted(unseen):
        looks.append(len(unseen))
        look(unseen)

    monkeypatch.setattr(loop, "_stop_unless_finite", counted)
    monkeypatch.setattr(loop, "_kind_of_device", lambda model: "meta")
    monkeypatch.setattr(torch, "autocast", lambda *a, **k: contextlib.nullcontext())
    many = [(X[:8], Y[:8])] * 120
    train_epoch(model, optimizer, many, loss)
    assert looks == [50, 50, 20]
    with pytest.raises(FloatingPointError, match="loss is inf at step 67"):
        train_epoch(model, optimizer, many, spoiled_from(67, math.inf))


def test_a_checkpoint_holds_numbers_and_no_code(tmp_path):
    path = tmp_path / "run.safetensors"
    run(epochs=2, checkpoint=path)
    with safe_open(path, framework="pt") as file:
        names, text = set(file.keys()), file.metadata()
    assert {"model.0.weight", "optimizer.0.exp_avg", "optimizer.0.step"} <= names
    assert set(text) == {"groups", "plain", "history", "step", "seed"} and text["step"] == "10"


def test_weights_that_are_shared_come_back_shared(tmp_path):
    def tied():
        model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
        model[1].weight = model[0].weight
        return model, torch.optim.SGD(model.parameters(), lr=0.1)

    model, optimizer = tied()
    save_checkpoint(tmp_path / "c.safetensors", model, optimizer, [], 3, seed=0)
    other, other_optimizer = tied()
    load_checkpoint(tmp_path / "c.safetensors", other, other_optimizer, seed=0)
    assert torch.equal(other[0].weight, model[0].weight) and other[1].weight is other[0].weight


@pytest.mark.parametrize("content", [b"", b"junk", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_broken_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"run\.safetensors is no checkpoint .*delete it"):
        run(checkpoint=path)
    assert path.read_bytes() == content


def test_recomputing_keeps_less_and_changes_no_gradient():
    def gradients(*kinds):
        model = nn.Sequential(*(make_model() for _ in range(1)))
        torch.manual_seed(0)
        kept = []
        with (
            torch.autograd.graph.saved_tensors_hooks(
                lambda t: kept.append(t.numel()) or t, lambda t: t
            ),
            recomputing(model, *kinds) if kinds else contextlib.nullcontext(),
        ):
            value = F.cross_entropy(model(X), Y)
        value.backward()
        assert "forward" not in vars(model[0])
        return [p.grad for p in model.parameters()], sum(kept)

    plain, much = gradients()
    again, little = gradients(nn.Sequential)
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True)) and little < much / 2


def test_what_draws_at_every_call_is_not_recomputed():
    model = nn.Sequential(nn.Sequential(ProbSparse()), nn.Sequential(nn.Linear(2, 2)))
    with (
        pytest.raises(ValueError, match="ProbSparse draws anew at every call"),
        recomputing(model, nn.Sequential),
    ):
        pass
    with recomputing(model[1], nn.Linear):
        assert "forward" in vars(model[1][0])


def test_a_run_that_recomputes_is_the_same_run():
    assert_same_run(run(recompute=[nn.Sequential]), run())


def test_each_row_is_logged_once_also_over_a_resumed_run(tmp_path):
    rows = []
    run(epochs=2, log=rows.append, checkpoint=tmp_path / "c.safetensors")
    _, history = run(epochs=4, log=rows.append, checkpoint=tmp_path / "c.safetensors")
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in rows] == history


def test_weights_do_not_count_and_shared_memory_counts_once():
    layer = nn.Linear(8, 8, bias=False)
    x = torch.ones(4, 8)
    assert saved_bytes(lambda: layer(x).sum()) == 4 * 8 * 4
    assert saved_bytes(lambda: (layer(x) + layer(x)).sum()) == 4 * 8 * 4
    assert saved_bytes(lambda: (layer(x) * 2).exp().sum()) == 2 * 4 * 8 * 4


def test_nothing_is_kept_without_a_gradient():
    layer = nn.Linear(8, 8)
    with torch.no_grad():
        assert saved_bytes(lambda: layer(torch.ones(4, 8)).sum()) == 0
