"""The whole Informer: its size, its switches, what its forecast may depend on."""

import dataclasses

import numpy as np
import pytest
import torch

from course_lib.data.ett import time_features
from course_lib.informer import Informer, InformerConfig, SparseRules, calendar_fields, informer
from course_tests.refusals import refusals

SIZES = {"seq_len": 24, "label_len": 8, "pred_len": 4, "d_model": 16, "n_heads": 2, "d_ff": 32}
SIZES |= {"in_channels": 3, "out_channels": 3}


def small(**changes):
    return InformerConfig(**{**SIZES, **changes})


def make(seed=0, **changes):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Informer(small(**changes)).double().eval()


def windows(batch=2, time="features", minutes=False):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch, 24, 3, generator=generator, dtype=torch.float64)
    dates = np.arange("2016-07-01T00:00", "2016-07-02T04:00", 60, dtype="datetime64[m]")
    if time == "features":
        times = time_features(dates, minutes).double()
    else:
        times = calendar_fields(dates, minutes)
    times = times.expand(batch, -1, -1)
    return x, times[:, :24], times[:, 24:]


def number(model):
    return sum(p.numel() for p in model.parameters())


def count(config):
    return number(Informer(config))


def test_counts_are_the_published():
    with torch.device("meta"):
        assert number(informer()) == 11_330_055
        usual = informer().config
    D, F = 512, 2048
    attention, feed_forward, norm = 4 * (D * D + D), 2 * D * F + D + F, 2 * D
    embedding = (3 * 7 * D + D) + (4 * D + D)
    halving = 3 * D * D + D + norm
    layer = attention + feed_forward + 2 * norm
    parts = 2 * embedding + 2 * layer + halving + norm + (layer + attention + norm) + norm
    assert parts + 7 * D + 7 == 11_330_055
    # With the default sizes of the published class instead of those of its script.
    config = dataclasses.replace(usual, n_encoder_layers=3, n_decoder_layers=2, d_ff=512)
    assert round(count(config) / 1e6, 2) == 11.60
    more = dataclasses.replace(usual, minutes=True)
    assert count(more) == 11_330_055 + 2 * D


def test_what_the_switches_cost():
    base = count(small())
    D = 16
    assert count(small(positions_at="layers", terms=("tp", "pt"))) == base
    for change in "attention=full positions=legendre positions=rotary positions=none".split():
        assert count(small(**dict([change.split("=")]))) == base
    assert count(small(mix=True)) == count(small(delta_value=True)) == base
    assert count(small(token_padding="causal")) == base
    assert count(small(distil=False)) == base - (3 * D * D + D) - 2 * D
    assert count(small(positions="relative")) == base + 2 * 32 * 2
    assert count(small(positions="learned")) == base + (24 + 12) * D
    assert count(small(time="none")) == base - 2 * 5 * D
    assert count(small(ff_depth=2)) == base + 3 * (32 * 32 + 32)


POSITIONS = ("sinusoidal", "legendre", "legendre_basis", "learned", "relative", "rotary", "none")


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("at", ["input", "layers", "both"])
@pytest.mark.parametrize("delta", [False, True])
def test_every_kind_of_positions_forecasts_and_learns(positions, at, delta):
    for attention in ("prob", "full"):
        model = make(positions=positions, positions_at=at, attention=attention, delta_value=delta)
        model.train()
        out = model(*windows())
        assert out.shape == (2, 4, 3)
        out.square().mean().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("minutes", [False, True])
@pytest.mark.parametrize("time", ["features", "fixed", "learned", "none"])
def test_every_kind_of_time(time, minutes):
    model = make(time=time, minutes=minutes)
    x, x_time, y_time = windows(
        time="features" if time == "features" else "fields", minutes=minutes
    )
    out = model(x, None, None) if time == "none" else model(x, x_time, y_time)
    assert out.shape == (2, 4, 3)
    if time not in ("none", "features"):
        later = y_time.clone()
        later[..., 3] = (later[..., 3] + 5) % 24
        assert not torch.allclose(model(x, x_time, later), out)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mix": True},
        {"distil": False},
        {"delta_value": True},
        {"positions": "rotary"},
        {"positions": "relative"},
        {"positions": "legendre", "positions_at": "layers"},
        {"positions_at": "layers", "terms": ("tp", "pt"), "rescale_terms": True},
    ],
    ids=str,
)
def test_with_all_queries_active_it_is_the_full_model(changes):
    full = make(attention="full", **changes)
    sparse = make(rules=SparseRules(100), **changes)
    explicit = make(rules=SparseRules(100), fused=False, **changes)
    x = windows()
    torch.testing.assert_close(sparse(*x), full(*x), rtol=0, atol=1e-10)
    torch.testing.assert_close(explicit(*x), full(*x), rtol=0, atol=1e-10)


@pytest.mark.parametrize("published", [False, True])
def test_paths_agree_when_few_are_active(published):
    rules = SparseRules(1).published() if published else SparseRules(1)
    x = windows()
    fused, explicit, full = (
        make(rules=rules),
        make(rules=rules, fused=False),
        make(attention="full"),
    )
    torch.testing.assert_close(fused(*x), explicit(*x))
    assert not torch.allclose(fused(*x), full(*x), atol=1e-3)


def test_the_encoder_halves_between_its_layers():
    x, x_time, _ = windows()
    for layers, length in ((1, 24), (2, 12), (3, 6), (4, 3)):
        assert make(n_encoder_layers=layers).encode(x, x_time).shape == (2, length, 16)
    assert make(n_encoder_layers=3, distil=False).encode(x, x_time).shape == (2, 24, 16)


def sensitivity(model):
    x, x_time, y_time = windows(1)
    memory = model.encode(x, x_time)
    start = torch.cat([x[:, -8:], x[:, :4]], dim=1)
    time = torch.cat([x_time[:, -8:], y_time], dim=1)
    out = model.decode(start, time, memory)
    other = start.clone()
    other[:, -1] += 3
    # Other rows may be computed beside it, so the last digits may differ.
    return ((model.decode(other, time, memory) - out).abs() > 1e-9).any(-1)[0]


@pytest.mark.parametrize("attention", ["prob", "full"])
@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "rotary", "legendre"])
@pytest.mark.parametrize("delta", [False, True])
def test_a_causal_decoder_lets_no_later_step_in(attention, positions, delta):
    model = make(
        token_padding="causal",
        attention=attention,
        rules=SparseRules(1),
        positions=positions,
        delta_value=delta,
        n_decoder_layers=2,
    )
    assert sensitivity(model).tolist() == [False] * 11 + [True]


def test_the_published_decoder_lets_later_steps_in_by_three_doors():
    # The convolution alone: the last step is the neighbour of the first, and of the one before.
    alone = sensitivity(make(attention="full"))
    assert alone[0] and alone[-2]
    # Mixed heads carry what is late to early rows.
    mixed = sensitivity(make(attention="full", token_padding="causal", mix=True))
    assert mixed[:-1].any()
    # The ranking: somebody's place is taken in one of several models.
    ranked = [
        sensitivity(make(seed, token_padding="causal", rules=SparseRules(1).published()))
        for seed in range(8)
    ]
    assert any(rows[:-1].any() for rows in ranked)
    assert sensitivity(make(rules=SparseRules(1).published(), mix=True)).all()


def test_the_forecast_is_one_pass_over_zeros():
    model = make()
    x, x_time, y_time = windows()
    memory = model.encode(x, x_time)
    start = torch.cat([x[:, -8:], torch.zeros(2, 4, 3, dtype=torch.float64)], dim=1)
    whole = model.decode(start, torch.cat([x_time[:, -8:], y_time], dim=1), memory)
    assert whole.shape == (2, 12, 3)
    torch.testing.assert_close(model(x, x_time, y_time), whole[:, 8:])


def test_the_decoder_may_begin_with_nothing_or_all_that_is_known():
    for label_len in (0, 24):
        assert make(label_len=label_len)(*windows()).shape == (2, 4, 3)


def test_forecasts_repeat_and_depend_on_the_seed_of_the_samples():
    x = windows()
    model = make(rules=SparseRules(1))
    before = torch.random.get_rng_state()
    assert torch.equal(model(*x), model(*x))
    assert torch.equal(before, torch.random.get_rng_state())
    other = Informer(small(rules=SparseRules(1), seed=1)).double().eval()
    other.load_state_dict(model.state_dict())
    assert not torch.equal(other(*x), model(*x))
    one = model(*(part[:1] for part in x))
    torch.testing.assert_close(one, model(*x)[:1])


X, X_TIME, Y_TIME = windows()
test_wrong_windows_are_named = refusals(
    (
        lambda: make()(X[:, 1:], X_TIME[:, 1:], Y_TIME),
        r"x has shape \(2, 23, 3\), wanted \(B, 24, 3\)",
    ),
    (lambda: make()(X), "time has shape None"),
    (lambda: make()(X, X_TIME, Y_TIME[:, 1:]), r"time has shape \(2, 11, 4\), wanted \(2, 12, F\)"),
)
test_contradictions_are_named = refusals(
    ({"attention": "sparse"}, "attention is 'sparse', wanted one of"),
    ({"positions": "alibi"}, "positions is 'alibi', wanted one of"),
    ({"positions_at": "top"}, "positions_at is 'top', wanted one of"),
    ({"time": "timeF"}, "time is 'timeF', wanted one of"),
    ({"token_padding": "zeros"}, "token_padding is 'zeros', wanted one of"),
    ({"activation": "elu"}, "activation is 'elu', wanted one of"),
    ({"label_len": 25}, "label_len is 25, wanted 0..24"),
    ({"pred_len": 0}, "pred_len is 0, wanted at least 1"),
    ({"n_heads": 3}, "n_heads is 3, wanted a divisor of d_model 16"),
    ({"dropout": 1.0}, "dropout is 1.0, wanted a probability"),
    ({"terms": ("tt",)}, "terms are .'tt'. and positions 'sinusoidal' at 'input'"),
    ({"terms": ("tt",), "positions": "rotary", "positions_at": "layers"}, "wanted vectors"),
    ({"terms": (), "positions_at": "layers"}, r"terms are \[\], wanted one or more"),
    ({"positions": "rotary", "d_model": 6}, "a head has 3 channels, wanted an even number"),
    by=small,
)
