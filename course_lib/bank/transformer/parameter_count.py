"""Exercise ``transformer.parameter_count``."""

import math
from typing import Any, Literal

import torch
from torch import nn

from course_lib.checks.compare import kind
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong
from course_lib.training import count_parameters
from course_lib.transformer import EncoderDecoder, TransformerConfig


def reference(
    source_vocab_size: int,
    target_vocab_size: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    max_len: int = 1024,
    norm: Literal["post", "pre"] = "post",
    tied: bool = True,
    shared: bool = False,
) -> tuple[int, int, int]:
    """Numbers in the matrices of words, in the encoder and in the decoder, by building them."""
    config = TransformerConfig(
        source_vocab_size, target_vocab_size, d_model=d_model, n_heads=n_heads, d_ff=d_ff,
        n_layers=n_layers, max_len=max_len, norm=norm, tied=tied, shared=shared,
    )  # fmt: skip
    with torch.device("meta"):
        model = EncoderDecoder(config)
    encoder, decoder = count_parameters(model.encoder), count_parameters(model.decoder)
    return count_parameters(model) - encoder - decoder, encoder, decoder


exercise = Exercise(
    id="transformer.parameter_count",
    function="parameter_count",
    reference=reference,
    points=5,
    minutes=15,
    difficulty=2,
    chapter="09_transformer.html#transformer-count",
    outcomes=("transformer.count",),
    example=lambda t: (30, 20, 8, 2, 32, 2),
    returns=("the count of the words", "the count of the encoder", "the count of the decoder"),
)


def sizes(t: Trial) -> tuple[int, int, int, int, int]:
    """Vocabularies, and d_model, n_heads and d_ff that nobody would guess."""
    n_heads = t.integer(2, 4)
    d_model = n_heads * 2 * t.integer(3, 6)
    return t.integer(50, 90), t.integer(20, 40), d_model, n_heads, t.integer(60, 99)


def one_of_three(t: Trial, which: int, *arguments: int, **options: bool) -> None:
    """Expect one of the three numbers to be right."""
    found = three(t, *arguments, **options)
    want = t.want(*arguments, **options)[which]
    note = f"called with {arguments}{', ' * bool(options)}{str(options)[1:-1]}"
    t.close(found[which], want, t.exercise.returns[which], note=note)


def three(t: Trial, *arguments: int, **options: Any) -> list[int]:
    """Call the answer and expect three numbers."""
    found = t.call(*arguments, **options)
    if not isinstance(found, (list, tuple)) or len(found) != 3:
        wanted = "three whole numbers: words, encoder, decoder"
        raise Wrong(f"the result is {kind(found)}, wanted {wanted}")
    return list(found)


@exercise.prop(
    "an encoder: attention, feed-forward part, two norms, and all their biases",
    points=1,
    hint="Print the names and shapes in `nn.TransformerEncoderLayer(8, 2, 32).named_parameters()`.",
)
def encoder(t: Trial) -> None:
    one_of_three(t, 1, *sizes(t), 1)
    one_of_three(t, 1, *sizes(t), t.integer(2, 7))


@exercise.prop(
    "a decoder: the same, and what it needs to look at the encoder",
    points=1,
    hint="How many attention layers has a decoder block, and how many norms?",
)
def decoder(t: Trial) -> None:
    one_of_three(t, 2, *sizes(t), 1)
    one_of_three(t, 2, *sizes(t), t.integer(2, 7))


@exercise.prop(
    "the matrices of words: one for each side, and the logits use the target's",
    points=1,
    hint="With tied weights, which matrix turns the last vectors into logits?",
)
def words(t: Trial) -> None:
    one_of_three(t, 0, *sizes(t), 2)
    one_of_three(t, 0, *sizes(t), 2, t.integer(5, 2000))


@exercise.prop(
    "untied logits, and one matrix for both sides",
    points=1,
    hint="Untied, a matrix for the logits comes on top, without a bias. Shared, one falls away.",
)
def tied_and_shared(t: Trial) -> None:
    source, target, *rest = sizes(t)
    one_of_three(t, 0, source, target, *rest, 2, tied=False)
    one_of_three(t, 0, source, source, *rest, 2, shared=True)
    one_of_three(t, 0, source, source, *rest, 2, tied=False, shared=True)


@exercise.prop(
    "pre-norm has a norm more at the end of each stack; heads and longest length change nothing",
    points=1,
    hint="What does a head add to the layer: new weights, or a cut through those that are there?",
)
def norms_and_heads(t: Trial) -> None:
    # Differences of the answer's own counts: the counts themselves are asked above.
    source, target, d_model, _, d_ff = sizes(t)
    post = three(t, source, target, d_model, 2, d_ff, 3)
    pre = three(t, source, target, d_model, 2, d_ff, 3, norm="pre")
    more = [after - before for after, before in zip(pre, post, strict=True)]
    t.close(more, [0, 2 * d_model, 2 * d_model], "what pre-norm adds")
    t.expect(min(post) > 0, "a count is not positive")
    for n_heads, max_len in ((1, 64), (d_model, 64), (2, 2048)):
        got = three(t, source, target, d_model, n_heads, d_ff, 3, max_len)
        t.close(got, post, "the counts", note=f"{n_heads} heads, max_len {max_len}")


@exercise.mistake(
    "Count the parameters of `nn.MultiheadAttention(8, 1)` and of `nn.MultiheadAttention(8, 4)`."
)
def heads_cost_extra(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Each head has projections of full width."""
    attention = n_heads * 3 * (d_model**2 + d_model) + d_model**2 + d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    last = 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake("With what does a decoder look at the encoder, and what stands behind it?")
def decoder_like_encoder(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """A decoder block is an encoder block with another mask."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    stack = n_layers * (attention + feed_forward + 4 * d_model) + 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return words * d_model, stack, stack


@exercise.mistake("Matrices are not all. What does a linear layer add?")
def matrices_only(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Projections and feed-forward parts are matrices, and nothing is added."""
    attention, feed_forward = 4 * d_model**2, 2 * d_model * d_ff
    last = 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake("Your numbers are short by a multiple of d_model. What is multiplied and added?")
def norms_are_free(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """A norm computes mean and variance, so that there is nothing to learn in it."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward),
        n_layers * (2 * attention + feed_forward),
    )


@exercise.mistake("With tied weights, how many matrices of target words are there in memory?")
def tied_counted_twice(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Tied matrices start equal and are two all the same."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    last = 2 * d_model * (norm == "pre")
    words = 2 * target_vocab_size + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake("Sinusoids come from a formula. Who would change them?")
def positions_are_weights(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """A table of positions has a row to learn for each place."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    last = 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        (words + max_len * (2 - shared)) * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake("Post-norm: what has happened to the output of the last block already?")
def always_a_last_norm(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Every stack ends with a norm of its own."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + 2 * d_model,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + 2 * d_model,
    )


@exercise.alternative
def torch_modules(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Builds one block of each kind with torch and counts; prints to stderr."""
    import sys

    print("counting", file=sys.stderr)
    with torch.device("meta"):
        reads = nn.TransformerEncoderLayer(d_model, n_heads, d_ff)
        writes = nn.TransformerDecoderLayer(d_model, n_heads, d_ff)
        last = nn.LayerNorm(d_model)
    count = [sum(p.numel() for p in m.parameters()) for m in (reads, writes, last)]
    rows = target_vocab_size
    if not shared:
        rows += source_vocab_size
    if not tied:
        rows += target_vocab_size
    end = count[2] if norm == "pre" else 0
    return rows * d_model, n_layers * count[0] + end, n_layers * count[1] + end


@exercise.alternative
def shapes_listed(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Lists the shape of every parameter and multiplies."""

    def linear(n_in, n_out):
        return [(n_out, n_in), (n_out,)]

    one_norm = [(d_model,), (d_model,)]
    attention = linear(d_model, d_model) * 4 + one_norm
    thinks = linear(d_model, d_ff) + linear(d_ff, d_model) + one_norm
    end = one_norm if norm == "pre" else []
    tables = [(target_vocab_size, d_model)]
    tables += [] if shared else [(source_vocab_size, d_model)]
    tables += [] if tied else [(target_vocab_size, d_model)]
    stacks = (
        tables,
        (attention + thinks) * n_layers + end,
        (attention * 2 + thinks) * n_layers + end,
    )
    return tuple(sum(math.prod(shape) for shape in shapes) for shapes in stacks)
