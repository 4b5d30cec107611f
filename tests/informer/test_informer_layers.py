"""The layers of an Informer against the parts they are made of, and against transformers'."""

import pytest
import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, merge_heads, split_heads
from course_lib.informer import (
    CalendarEmbedding,
    Distilling,
    InformerAttention,
    InformerConfig,
    InformerDecoderLayer,
    InformerEmbedding,
    InformerEncoderLayer,
    LayerPositions,
    PositionVectors,
    SparseRules,
    TokenEmbedding,
    calendar_fields,
)
from course_lib.layers import DecoderBlock, EncoderBlock
from course_lib.masks import causal_mask
from course_lib.positions import FourTermAttention, Rotary, legendre_positions, sinusoidal_positions
from course_tests.refusals import refusals

ALL = SparseRules(100)
T = 12


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def small(**changes):
    sizes = {"seq_len": 24, "label_len": 8, "pred_len": 4, "d_model": 16, "n_heads": 2, "d_ff": 32}
    return InformerConfig(**{**sizes, "dropout": 0.0, **changes})


def with_weights_of(other, **options):
    attend = InformerAttention(16, 2, **options).double().eval()
    attend.load_state_dict(other.state_dict(), strict=False)
    return attend


@pytest.mark.parametrize("rules", [None, ALL], ids=["full", "all active"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_with_all_active_it_is_multi_head_attention(rules, causal, fused):
    standard = MultiHeadAttention(16, 2).double()
    attend = with_weights_of(standard, rules=rules, causal=causal, fused=fused)
    x, bias = draw(3, T, 16), draw(1, 2, T, T, seed=1)
    mask = causal_mask(T) if causal else None
    for options in ({}, {"bias": bias}, {"rotate": Rotary(8).double()}):
        expected = standard(x, mask=mask, **options)
        torch.testing.assert_close(attend(x, **options), expected, rtol=0, atol=1e-10)
        out, weights = attend(x, return_weights=True, **options)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
        theirs = standard(x, mask=mask, return_weights=True, **options)[1]
        torch.testing.assert_close(weights, theirs)


@pytest.mark.parametrize("rules", [None, ALL], ids=["full", "all active"])
def test_to_a_memory_it_is_cross_attention(rules):
    standard = MultiHeadAttention(16, 2).double()
    x, memory = draw(3, T, 16), draw(3, 7, 16, seed=1)
    attend = with_weights_of(standard, rules=rules)
    torch.testing.assert_close(attend(x, memory), standard(x, memory), rtol=0, atol=1e-10)


def test_heads_left_before_time_are_another_model():
    # Reading (B, H, T, Dh) as (B, T, D) has the right shape, and is right for one head.
    standard = MultiHeadAttention(16, 2).double()
    x = draw(1, T, 16)
    mixed = with_weights_of(standard, rules=ALL, mix=True)
    assert (mixed(x) - standard(x)).abs().max() > 0.05
    order = torch.randperm(T, generator=torch.Generator().manual_seed(0))
    right = with_weights_of(standard, rules=ALL)
    torch.testing.assert_close(right(x[:, order]), right(x)[:, order])
    assert (mixed(x[:, order]) - mixed(x)[:, order]).abs().max() > 0.05
    single = MultiHeadAttention(16, 1).double()
    attend = InformerAttention(16, 1, mix=True).double()
    attend.load_state_dict(single.state_dict())
    torch.testing.assert_close(attend(x), single(x))


@pytest.mark.parametrize("rules", [None, ALL], ids=["full", "all active"])
@pytest.mark.parametrize("terms", [("tt", "tp", "pt", "pp"), ("tp", "pt"), ("pp",)], ids="+".join)
@pytest.mark.parametrize("rescale", [False, True])
def test_positions_in_the_layer_are_four_terms(rules, terms, rescale):
    reference = FourTermAttention(16, 2, terms=terms, rescale=rescale).double()
    attend = with_weights_of(
        reference, rules=rules, causal=True, terms=terms, rescale_terms=rescale
    )
    x, positions = draw(3, T, 16), draw(T, 16, seed=1)
    expected = reference(x, positions, mask=causal_mask(T))
    torch.testing.assert_close(attend(x, positions=positions), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rules", [None, ALL], ids=["full", "all active"])
@pytest.mark.parametrize("causal", [False, True])
def test_steps_of_values_are_added_to_the_own_value(rules, causal):
    reference = MultiHeadAttention(16, 2).double()
    attend = with_weights_of(reference, rules=rules, causal=causal, delta_value=True)
    x = draw(3, T, 16)
    _, weights = reference(x, mask=causal_mask(T) if causal else None, return_weights=True)
    v = split_heads(reference.v_proj(x), 2)
    steps = torch.cat([torch.zeros_like(v[:, :, :1]), v[:, :, 1:] - v[:, :, :-1]], dim=2)
    expected = reference.out_proj(merge_heads(v + weights @ steps))
    torch.testing.assert_close(attend(x), expected, rtol=0, atol=1e-10)


def test_lazy_queries_with_steps_take_the_mean_step():
    attend = InformerAttention(16, 2, rules=SparseRules(1), delta_value=True).double().eval()
    out, weights = attend(draw(2, 30, 16), return_weights=True)
    assert (weights == 1 / 30).all(-1).any()
    torch.testing.assert_close(attend(draw(2, 30, 16)), out)


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_layers_with_full_attention_are_blocks_with_the_norm_behind(activation):
    config = small(attention="full", activation=activation)
    x, memory = draw(2, T, 16), draw(2, 9, 16, seed=1)
    encoder = InformerEncoderLayer(config).double()
    block = EncoderBlock(16, 2, 32, norm="post", activation=activation).double()
    block.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(encoder(x), block(x))
    decoder = InformerDecoderLayer(config).double()
    block = DecoderBlock(16, 2, 32, norm="post", activation=activation).double()
    block.load_state_dict(decoder.state_dict())
    torch.testing.assert_close(decoder(x, memory), block(x, memory, mask=causal_mask(T)))


def test_distilling_is_transformers():
    from transformers.models.informer.modeling_informer import InformerConvLayer

    ours, theirs = Distilling(16).double(), InformerConvLayer(16).double()
    theirs.downConv.load_state_dict(ours.conv.state_dict())
    theirs.norm.load_state_dict(ours.norm.state_dict())
    for length in (24, 25, 2):
        x = draw(3, length, 16)
        for training in (True, False):
            ours.train(training), theirs.train(training)
            out = ours(x)
            torch.testing.assert_close(out, theirs(x))
            assert out.shape == (3, (length + 1) // 2, 16)


def test_a_batch_norm_lets_sequences_see_each_other_in_training():
    halve = Distilling(16).double()
    x = draw(3, 24, 16)
    assert not torch.allclose(halve(x)[:1], halve(x[:1]))
    halve.eval()
    torch.testing.assert_close(halve(x)[:1], halve(x[:1]))


def test_tokens_are_a_circular_convolution():
    embed = TokenEmbedding(7, 16).double()
    reference = nn.Conv1d(7, 16, 3, padding=1, padding_mode="circular").double()
    reference.load_state_dict(embed.conv.state_dict())
    x = draw(2, T, 7)
    torch.testing.assert_close(embed(x), reference(x.transpose(1, 2)).transpose(1, 2))
    assert embed.conv.weight.std().item() == pytest.approx((2 / (1.0001 * 21)) ** 0.5, rel=0.2)


def test_causal_tokens_see_no_later_step():
    embed = TokenEmbedding(7, 16, causal=True).double()
    x = draw(2, T, 7)
    for t in range(1, T):
        torch.testing.assert_close(embed(x[:, :t]), embed(x)[:, :t])


def test_calendars_are_looked_up():
    import numpy as np

    dates = np.arange("2016-02-28T22:00", "2016-03-01T02:00", 15, dtype="datetime64[m]")
    fields = calendar_fields(dates, minutes=True)
    assert fields.shape == (112, 5)
    for date, row in zip(dates.tolist(), fields.tolist(), strict=True):
        assert row == [date.month, date.day, date.weekday(), date.hour, date.minute // 15]
    embed = CalendarEmbedding(16, minutes=True)
    tables = [sinusoidal_positions(size, 16) for size in (13, 32, 7, 24, 4)]
    expected = sum(table[fields[:, i]] for i, table in enumerate(tables))
    torch.testing.assert_close(embed(fields[None])[0], expected)
    # The published tables of the fixed kind are parameters that are never trained: 76 rows.
    learned = CalendarEmbedding(16, learned=True)
    assert sum(p.numel() for p in learned.parameters()) == 76 * 16


def test_parts_of_the_embedding_add_up():
    x, time = draw(2, T, 7), draw(2, T, 4, seed=1)
    embed = InformerEmbedding(small(), max_len=24).double()
    torch.testing.assert_close(
        embed(x, time),
        embed.values(x) + embed.time(time) + sinusoidal_positions(T, 16).double(),
        rtol=0,
        atol=1e-6,
    )
    assert embed.time.bias is not None
    bare = InformerEmbedding(small(time="none", positions="none"), max_len=24).double()
    torch.testing.assert_close(bare(x), bare.values(x))
    inside = InformerEmbedding(small(time="none", positions_at="layers"), max_len=24).double()
    torch.testing.assert_close(inside(x), inside.values(x))


def test_kinds_of_position_vectors():
    def vectors(kind, **changes):
        return PositionVectors(small(positions=kind, **changes), 24)

    torch.testing.assert_close(vectors("sinusoidal")(5), sinusoidal_positions(5, 16))
    torch.testing.assert_close(vectors("legendre")(5), legendre_positions(5, 16))
    torch.testing.assert_close(
        vectors("legendre", normalise_positions=True)(5), legendre_positions(5, 16, normalise=True)
    )
    torch.testing.assert_close(
        vectors("legendre_basis")(5), legendre_positions(5, 16, mode="basis")
    )
    assert vectors("learned")(5).requires_grad


def test_layers_are_told_of_positions_once_for_all():
    told = {
        "sinusoidal": {"positions"},
        "legendre": {"positions"},
        "learned": {"positions"},
        "relative": {"bias"},
        "rotary": {"rotate"},
        "none": set(),
    }
    for kind, names in told.items():
        places = LayerPositions(small(positions=kind, positions_at="layers"), 24, causal=True)
        assert set(places(10)) == names
        at_input = LayerPositions(small(positions=kind), 24, causal=True)
        assert set(at_input(10)) == names - {"positions"}
    bias = LayerPositions(small(positions="relative"), 24, causal=False)(10)["bias"]
    assert bias.shape == (1, 2, 10, 10)
    assert not torch.equal(bias, bias.transpose(-2, -1))


test_wrong_input_is_named = refusals(
    (lambda: InformerAttention(16, 3), "n_heads is 3"),
    (lambda: InformerAttention(16, 2, terms=["xx"]), "terms are .'xx'."),
    (lambda: InformerAttention(16, 2)(torch.zeros(5, 16)), r"x has shape \(5, 16\)"),
    (lambda: TokenEmbedding(7, 16)(torch.zeros(1, 5, 6)), r"wanted \(B, T, 7\)"),
    (lambda: CalendarEmbedding(16)(torch.zeros(1, 5, 4)), "wanted integers"),
    (lambda: InformerEmbedding(small(), 24)(torch.zeros(1, 5, 7)), "time has shape None"),
    (lambda: PositionVectors(small(positions="none"), 24), "positions are 'none'"),
)
