"""Writing: with caches as without, and as a second implementation does it."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.transformer import DecoderOnly, DecoderOnlyConfig, EncoderDecoder, TransformerConfig

SEEDS = st.integers(0, 2**31)
V, T, S = 9, 7, 4
POSITIONS = ["learned", "sinusoidal", "rotary", "none"]
SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 20, "n_layers": 2, "max_len": 16, "dropout": 0.2}


def wild(model, seed):
    """Larger weights than at the start of training, so that texts don't repeat one token."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6, generator=generator)
    return model.double()


def language_model(seed=0, **options):
    return wild(DecoderOnly(DecoderOnlyConfig(vocab_size=V, **{**SMALL, **options})), seed)


def translator(seed=0, **options):
    return wild(EncoderDecoder(TransformerConfig(V, V, **{**SMALL, **options})), seed)


def text(seed=0, shape=(2, T)):
    return torch.randint(3, V, shape, generator=torch.Generator().manual_seed(seed))


@given(seed=SEEDS, cuts=st.sets(st.integers(1, T - 1)), positions=st.sampled_from(POSITIONS))
@settings(max_examples=25, deadline=None)
def test_a_text_read_in_pieces_is_the_text_read_at_once(seed, cuts, positions):
    model, tokens = language_model(seed, positions=positions).eval(), text(seed)
    whole = model(tokens)
    for edges in ([0, *sorted(cuts), T], list(range(T + 1)), [0, T]):
        caches = model.make_caches()
        pieces = [model(tokens[:, a:b], caches=caches) for a, b in pairwise(edges)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-10, rtol=0)
        assert all(cache.length == T for cache in caches)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_translation_read_in_pieces_is_the_one_read_at_once(norm):
    model = translator(norm=norm).eval()
    x = model.target_embedding(text())
    memory = model.encoder(model.source_embedding(text(1, (2, S))))
    mask = torch.tensor([[True] * S, [True, True, False, False]])[:, None, None]
    whole = model.decoder(x, memory, memory_mask=mask)
    for edges in ([0, 3, T], list(range(T + 1))):
        caches, pieces = model.decoder.make_caches(), []
        for a, b in pairwise(edges):
            given_memory = memory if a == 0 else None
            pieces.append(model.decoder(x[:, a:b], given_memory, memory_mask=mask, caches=caches))
        torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-10, rtol=0)


METHODS = [
    {"method": "greedy"},
    {"method": "sample", "temperature": 1.3},
    {"method": "sample", "top_k": 3},
    {"method": "sample", "top_p": 0.8, "top_k": 5},
    {"method": "beam", "beam_size": 3},
    {"method": "beam", "beam_size": 4, "length_penalty": 0.6},
]


def options_of(options, seed=5):
    if options["method"] != "sample":
        return options
    return {**options, "generator": torch.Generator().manual_seed(seed)}


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("options", METHODS, ids=str)
def test_caches_change_no_text(positions, options):
    model = language_model(3, positions=positions)
    with_cache, without = (
        model.generate(text(), max_len=8, end=2, cached=cached, **options_of(options))
        for cached in (True, False)
    )
    assert torch.equal(with_cache.tokens, without.tokens)
    torch.testing.assert_close(with_cache.scores, without.scores, atol=1e-10, rtol=0)


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_caches_change_no_translation(options):
    model = translator(3, norm="pre")
    source, lengths = text(1, (3, S)), torch.tensor([4, 2, 3])
    with_cache, without = (
        model.generate(source, lengths, max_len=8, cached=cached, **options_of(options))
        for cached in (True, False)
    )
    assert torch.equal(with_cache.tokens, without.tokens)
    torch.testing.assert_close(with_cache.scores, without.scores, atol=1e-10, rtol=0)


@pytest.mark.parametrize("make", [language_model, translator])
def test_the_memory_and_the_words_before_are_projected_once(make):
    model = make()
    lengths = []
    for name, module in model.named_modules():
        if name.endswith("k_proj") and not name.startswith("encoder"):
            module.register_forward_hook(lambda m, args, out: lengths.append(out.shape[1]))
    if make is language_model:
        model.generate(text(), max_len=5)
        assert sorted(lengths) == [1] * 8 + [T] * 2
    else:
        model.generate(text(1, (2, S)), torch.tensor([S, S]), max_len=5, end=None)
        assert sorted(lengths) == [1] * 10 + [S] * 2


def test_the_score_of_a_hypothesis_is_that_of_its_translation():
    model = translator(2).eval()
    source, lengths = text(1, (2, S)), torch.tensor([S, 2])
    beam = model.generate(
        source, lengths, max_len=6, method="beam", beam_size=4, length_penalty=0.6
    )
    for b in range(2):
        for tokens, total, score in zip(
            beam.tokens[b], beam.log_probs[b], beam.scores[b], strict=True
        ):
            target_in = torch.cat([torch.tensor([1]), tokens[:-1]])[None]
            logits = model(source[b : b + 1], lengths[b : b + 1], target_in).log_softmax(-1)
            length = tokens.tolist().index(2) + 1 if 2 in tokens else len(tokens)
            expected = logits[0].gather(-1, tokens[:, None])[:length].sum()
            torch.testing.assert_close(total, expected)
            torch.testing.assert_close(score, expected / ((5 + length) / 6) ** 0.6)
    assert (beam.scores.diff(dim=1) <= 0).all()


@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_a_generator_decides_what_is_written(seed):
    model = language_model(7)

    def write(seed):
        generator = torch.Generator().manual_seed(seed)
        return model.generate(
            text(0, (8, 2)), max_len=10, method="sample", temperature=3.0, generator=generator
        ).tokens

    before = torch.random.get_rng_state()
    assert torch.equal(write(seed), write(seed))
    assert not torch.equal(write(seed), write(seed + 1))
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("training", [True, False])
def test_writing_takes_place_without_dropout_and_restores_the_mode(training):
    model = language_model().train(training)
    first = model.generate(text(), max_len=5)
    assert torch.equal(first.tokens, model.generate(text(), max_len=5).tokens)
    assert model.training is training and not first.log_probs.requires_grad
    with pytest.raises(ValueError, match="max_len is 0"):
        model.generate(text(), max_len=0)
    assert model.training is training


def test_after_the_end_there_is_padding():
    model = translator(3)
    source, lengths = text(1, (30, S)), torch.full((30,), S)
    tokens = model.generate(
        source,
        lengths,
        max_len=12,
        method="sample",
        temperature=5.0,
        generator=torch.Generator().manual_seed(0),
    ).tokens
    ended = [row for row in tokens.tolist() if 2 in row]
    assert 5 < len(ended)
    for row in ended:
        assert set(row[row.index(2) + 1 :]) <= {0}
