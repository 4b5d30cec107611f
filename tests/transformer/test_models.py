"""Whole models: what they hold and see, and those on one page beside the library's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.masks import padding_mask
from course_lib.transformer import (
    Decoder,
    DecoderOnly,
    DecoderOnlyConfig,
    Encoder,
    EncoderDecoder,
    PositionedEmbedding,
    TransformerConfig,
    transformer_base,
)
from course_lib.vit import ViT, ViTConfig
from course_lib.whole import GPT, VisionTransformer, load
from course_tests.refusals import refusals

SEEDS = st.integers(0, 2**31)
V, T, S = 11, 5, 4
POSITIONS = ["learned", "sinusoidal", "rotary", "none"]
SMALL = {"d_model": 12, "n_heads": 3, "d_ff": 20, "n_layers": 2, "max_len": 16, "dropout": 0.0}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def language_model(seed=0, **options):
    config = DecoderOnlyConfig(vocab_size=V, **{**SMALL, **options})
    model = DecoderOnly(config, generator=seeded(seed)).double()
    for parameter in model.parameters():
        # Larger than at the start of training, so that a mistake anywhere is seen.
        nn.init.normal_(parameter, std=0.5, generator=seeded(seed))
    return model


def translator(seed=0, **options):
    return EncoderDecoder(
        TransformerConfig(V, V + 2, **{**SMALL, **options}), generator=seeded(seed)
    ).double()


def text(seed=0, shape=(2, T)):
    return torch.randint(3, V, shape, generator=seeded(seed))


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_the_base_model_has_the_parameters_of_its_formula():
    with torch.device("meta"):
        model = transformer_base()
    d, f = 512, 2048
    attention = 4 * d * d + 4 * d
    feed_forward = 2 * d * f + f + d
    encoder, decoder = attention + feed_forward + 4 * d, 2 * attention + feed_forward + 6 * d
    assert count(model) == 37_000 * d + 6 * (encoder + decoder) == 63_082_496
    assert sum(p.numel() for p in model.encoder.blocks[0].attention.parameters()) == attention
    # torch's own class adds a norm after each stack, which the paper has not.
    with torch.device("meta"):
        theirs = nn.Transformer(d, 8, 6, 6, f, batch_first=True)
    assert count(theirs) == 6 * (encoder + decoder) + 4 * d


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_language_model_has_the_parameters_of_its_formula(positions, tied, bias):
    d, f = 12, 20
    block = 4 * d * d + 2 * d * f + 2 * d + bias * (4 * d + f + d + 2 * d)
    expected = V * d * (2 - tied) + 16 * d * (positions == "learned") + 2 * block + d + bias * d
    assert count(language_model(positions=positions, tied=tied, bias=bias)) == expected


@pytest.mark.parametrize(
    "options, extra",
    [({}, 0), ({"tied": False}, (V + 2) * 12), ({"positions": "learned"}, 2 * 16 * 12)],
)
def test_a_translator_has_the_parameters_of_its_formula(options, extra):
    d, f = 12, 20
    attention, feed_forward = 4 * d * d + 4 * d, 2 * d * f + f + d
    blocks = 2 * (3 * attention + 2 * feed_forward + 10 * d)
    assert count(translator(**options)) == (2 * V + 2) * d + blocks + extra


def test_positions_end_the_equivariance_and_so_does_the_causal_mask_in_two_layers():
    tokens, order = text(shape=(1, T)), torch.tensor([1, 0, 2, 3, 4])
    for positions in POSITIONS:
        for n_layers in (1, 2):
            model = language_model(positions=positions, n_layers=n_layers)
            # The last token of one block sees only which tokens there are. In the second block
            # they differ by how many tokens they could see themselves.
            same = torch.allclose(model(tokens[:, order])[:, -1], model(tokens)[:, -1])
            assert same == (positions == "none" and n_layers == 1), (positions, n_layers)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("fused", [True, False])
def test_no_gradient_comes_from_the_future(positions, fused):
    model = language_model(positions=positions)
    for block in model.blocks.blocks:
        block.attention.fused = fused
    embedded = []
    model.embedding.register_forward_hook(lambda *a: embedded.append(a[-1].requires_grad_()))
    logits = model(text(shape=(1, T)))
    for t in range(T):
        (grad,) = torch.autograd.grad(logits[0, t].sum(), embedded[0], retain_graph=True)
        assert (grad[0, t + 1 :] == 0).all()
        assert (grad[0, : t + 1].abs().sum(-1) > 0).all()


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_text_padded_on_the_side_that_its_positions_allow_is_read_as_it_is_alone(positions):
    model = language_model(positions=positions).eval()
    text = torch.randint(V, (1, T), generator=seeded(1))
    alone, pads = model(text), torch.zeros(1, 3, dtype=torch.int64)
    for padded, real in (((text, pads), slice(T)), ((pads, text), slice(3, None))):
        keep = torch.zeros(T + 3, dtype=torch.bool)
        keep[real] = True
        same = torch.allclose(model(torch.cat(padded, dim=1), mask=keep)[:, real], alone)
        assert same == (real.start is None or positions in ("rotary", "none"))


def test_a_decoder_looks_back_and_at_all_of_the_memory():
    torch.manual_seed(0)
    decoder = Decoder(12, 3, 20, 2)
    x, memory = torch.randn(1, T, 12, requires_grad=True), torch.randn(1, S, 12, requires_grad=True)
    for t in range(T):
        own, seen = torch.autograd.grad(decoder(x, memory)[0, t, 0], (x, memory))
        assert (own[0, t + 1 :] == 0).all() and (own[0, : t + 1].abs().sum(-1) > 0).all()
        assert (seen.abs().sum(-1) > 0).all()


@given(seed=SEEDS, length=st.integers(1, S))
@settings(max_examples=10, deadline=None)
def test_padding_of_the_source_changes_nothing(seed, length):
    model = translator(seed).eval()
    source, target = text(seed, (1, S)), text(seed + 1, (1, T))
    padded = torch.cat([source[:, :length], torch.full((1, 3), 9)], dim=1)
    alone = model(source[:, :length], torch.tensor([length]), target)
    torch.testing.assert_close(model(padded, torch.tensor([length]), target), alone)


def test_a_row_that_sees_nothing_gets_exactly_nothing():
    torch.manual_seed(0)
    encoder = Encoder(12, 3, 20, 1, norm="post")
    x = torch.randn(2, T, 12, requires_grad=True)
    heads = []
    encoder.blocks[0].attention.out_proj.register_forward_pre_hook(lambda m, a: heads.append(a[0]))
    for fused in (True, False):
        encoder.blocks[0].attention.fused = fused
        out = encoder(x, mask=padding_mask(torch.tensor([0, T]), T))
        out.square().sum().backward()
        assert out.isfinite().all() and x.grad.isfinite().all()
        assert (heads[-1][0] == 0).all() and (heads[-1][1] != 0).any()
    # Left padding under a causal mask makes such rows; later ones don't feel them.
    model = language_model(positions="rotary")
    keep = torch.tensor([False, False, True, True, True])[None, None, None]
    tokens = text(shape=(1, T))
    padded = model(tokens, mask=keep)
    assert padded.isfinite().all()
    torch.testing.assert_close(padded[:, 2:], model(tokens[:, 2:]))


def test_weights_of_all_three_kinds_are_returned():
    model = translator().eval()
    lengths = torch.tensor([S, 2])
    logits, weights = model(text(0, (2, S)), lengths, text(1), return_weights=True)
    torch.testing.assert_close(logits, model(text(0, (2, S)), lengths, text(1)))
    assert [tuple(w.shape) for w in weights] == [(2, 2, 3, S, S), (2, 2, 3, T, T), (2, 2, 3, T, S)]
    for each in weights:
        torch.testing.assert_close(each.sum(-1), torch.ones_like(each[..., 0]))
    assert (weights.encoder[:, 1, ..., 2:] == 0).all() and (weights.cross[:, 1, ..., 2:] == 0).all()
    assert (weights.decoder.triu(1) == 0).all()
    model = language_model()
    logits, maps = model(text(), return_weights=True)
    torch.testing.assert_close(logits, model(text()))
    assert maps.shape == (2, 2, 3, T, T)


def test_a_head_mask_silences_heads_layer_by_layer():
    model = language_model()
    keep = torch.ones(2, 3)
    torch.testing.assert_close(model(text(), head_mask=keep), model(text()))
    keep[1, 2] = 0
    silenced = model(text(), head_mask=keep)
    model.blocks.blocks[1].attention.prune_heads([2])
    torch.testing.assert_close(model(text()), silenced)


@pytest.mark.parametrize("make", [language_model, translator])
def test_tied_matrices_are_one_before_and_after_a_checkpoint(make):
    model, other = make(0), make(1)
    embedding = (model.embedding if make is language_model else model.target_embedding).tokens
    pointers = [p.data_ptr() for p in model.parameters()]
    assert len(set(pointers)) == len(pointers) and model.head is None
    shapes = [tuple(t.shape) for t in model.state_dict().values()]
    assert shapes.count(tuple(embedding.weight.shape)) == 1
    other.load_state_dict(model.state_dict())
    # A change of the loaded embedding is one of the logits.
    args = (text(),) if make is language_model else (text(), torch.tensor([T, T]), text(1))
    model.eval(), other.eval()
    torch.testing.assert_close(other(*args), model(*args))
    tied = (other.embedding if make is language_model else other.target_embedding).tokens
    with torch.no_grad():
        tied.weight[V - 1] += 1.0
    assert not torch.allclose(other(*args)[..., V - 1], model(*args)[..., V - 1])


def test_a_shared_embedding_serves_both_sides_and_gets_both_gradients():
    config = TransformerConfig(V, V, shared=True, **SMALL)
    model = EncoderDecoder(config, generator=seeded(0))
    assert model.source_embedding is None
    source = torch.tensor([[5, 6]])
    logits = model(source, torch.tensor([2]), torch.tensor([[1, 7]]))
    logits[..., 9].sum().backward()
    rows = model.target_embedding.tokens.weight.grad.abs().sum(-1).nonzero().flatten()
    assert rows.tolist() == [1, 5, 6, 7, 9]


def test_embeddings_are_scaled_to_the_size_of_the_positions():
    embed = PositionedEmbedding(1000, 64, max_len=1000, positions="none", scaled=True)
    assert abs(embed(torch.arange(1000)[None]).var().item() - 1) < 0.05
    torch.testing.assert_close(
        embed.logits(embed(torch.tensor([[3]])))[0, 0, 3], 8 * embed.tokens.weight[3].square().sum()
    )


def test_gpt2s_residual_parts_start_smaller():
    config = DecoderOnlyConfig(vocab_size=V, d_model=128, n_heads=4, d_ff=512, n_layers=8)
    model = DecoderOnly(config, generator=seeded(0))
    block = model.blocks.blocks[3]
    for part, std in (
        (block.attention.q_proj, 0.02),
        (block.attention.out_proj, 0.005),
        (block.feed_forward.in_proj, 0.02),
        (block.feed_forward.out_proj, 0.005),
    ):
        assert abs(part.weight.std().item() / std - 1) < 0.05
        assert (part.bias == 0).all()


def test_label_smoothing_and_padding_in_the_loss():
    model = translator().eval()
    source, lengths = text(0, (2, S)), torch.tensor([S, S])
    target = torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    logits = model(source, lengths, target[:, :-1]).log_softmax(-1)
    real = target[:, 1:] != 0
    true = -logits.gather(-1, target[:, 1:, None])[..., 0][real]
    torch.testing.assert_close(model.loss(source, lengths, target), true.mean())
    uniform = -logits.mean(-1)[real]
    torch.testing.assert_close(
        model.loss(source, lengths, target, label_smoothing=0.1),
        (0.9 * true + 0.1 * uniform).mean(),
    )


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: TransformerConfig(9, 9, norm="mid"), "norm is 'mid', wanted one of"),
    (lambda: TransformerConfig(9, 9, activation="tanh"), "activation is 'tanh'"),
    (lambda: TransformerConfig(9, 9, positions="rotary"), "positions is 'rotary', wanted"),
    (lambda: DecoderOnlyConfig(positions="here"), "positions is 'here', wanted one of"),
    (lambda: TransformerConfig(9, 8, shared=True), "source_vocab_size is 9 and target_vocab"),
    (lambda: DecoderOnlyConfig(n_heads=5), "n_heads is 5, wanted a divisor of d_model 768"),
    (lambda: DecoderOnlyConfig(n_layers=0), "n_layers is 0, wanted at least 1"),
    (lambda: language_model()(torch.ones(2, 3)), r"tokens have shape \(2, 3\) and dtype"),
    (lambda: language_model()(text(0, (1, 17))), "got 17 positions, wanted at most max_len 16"),
    (lambda: language_model().generate(text(0, (1, 10)), max_len=8), "got 17 positions"),
    (lambda: language_model().generate(text()[:, :0], max_len=1), r"wanted \(B, T\) with T"),
    (lambda: language_model().generate(text(), max_len=1, method="best"), "method is 'best'"),
    (lambda: translator()(text(), torch.tensor([T, 9]), text()), "not all in 0..5"),
    (lambda: Decoder(12, 3, 20, 2)(torch.ones(1, 2, 12)), "got no memory"),
    (lambda: language_model().loss(text(0, (1, 1))), r"\(1, 1\), wanted \(B, T \+ 1\)"),
    (lambda: language_model()(torch.tensor([[0, V]])), "numbers from 0 to 11, wanted 0 to 10"),
    (
        lambda: translator().loss(
            torch.tensor([[3, 4]]), torch.tensor([2]), torch.tensor([[1, 0]])
        ),
        "nothing but padding",
    ),
)


SIZES = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 3}


@pytest.fixture
def texts():
    config = DecoderOnlyConfig(vocab_size=11, max_len=20, dropout=0.0, **SIZES)
    theirs = DecoderOnly(config, generator=torch.Generator().manual_seed(0)).eval()
    ours = GPT(11, 20, **SIZES)
    load(ours, theirs.state_dict())
    return theirs, ours, torch.randint(11, (3, 9), generator=torch.Generator().manual_seed(1))


def test_gpt_predicts_what_the_library_predicts(texts):
    theirs, ours, tokens = texts
    torch.testing.assert_close(ours(tokens), theirs(tokens))
    torch.testing.assert_close(ours.loss(tokens), theirs.loss(tokens))


def test_gpt_writes_what_the_library_writes(texts):
    theirs, ours, tokens = texts
    written = ours.generate(tokens, 8, temperature=0)
    assert written[:, :9].equal(tokens)
    assert written[:, 9:].equal(theirs.generate(tokens, max_len=8).tokens)


def test_gpt_with_kept_keys_predicts_as_without(texts):
    _, ours, tokens = texts
    pasts = [[] for _ in ours.blocks]
    parts = [ours(tokens[:, a:b], pasts) for a, b in ((0, 4), (4, 5), (5, 9))]
    torch.testing.assert_close(torch.cat(parts, dim=1), ours(tokens))


def test_vision_transformer_classifies_as_the_library_does():
    config = ViTConfig(image_size=8, patch_size=2, dropout=0.0, positions="learned", **SIZES)
    theirs = ViT(config, generator=torch.Generator().manual_seed(0)).eval()
    ours = VisionTransformer(8, 2, 10, **SIZES)
    load(ours, theirs.state_dict())
    images = torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(ours(images), theirs(images))


def test_weights_of_another_kind_are_refused(texts):
    theirs, _, _ = texts
    with pytest.raises(RuntimeError, match="Missing key"):
        load(VisionTransformer(8, 2, 10, **SIZES), theirs.state_dict())
