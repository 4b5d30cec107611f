from typing import Literal

from course_lib.bank.prelude import changed, math, nn, torch
from course_lib.bank.transformer.parameter_count import exercise
from course_lib.training import count_parameters
from course_lib.transformer import EncoderDecoder, TransformerConfig


@exercise.answer
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


def right(
    source_vocab_size, target_vocab_size, d_model, n_heads, d_ff, n_layers, max_len=1024,
    norm="post", tied=True, shared=False,
):  # fmt: skip
    """Base of the mistakes, itself right."""
    attention = 4 * (d_model**2 + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    last = 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake(
    "Count the parameters of `nn.MultiheadAttention(8, 1)` and of `nn.MultiheadAttention(8, 4)`."
)
@changed(
    right, ("= 4 * (", "= n_heads * 3 * ("), ("+ d_model)", "+ d_model) + d_model**2 + d_model")
)
def heads_cost_extra():
    """Each head has projections of full width."""


@exercise.mistake("With what does a decoder look at the encoder, and what comes after it?")
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
    """Projections and feed-forward sub-layers are matrices, and nothing is added."""
    attention, feed_forward = 4 * d_model**2, 2 * d_model * d_ff
    last = 2 * d_model * (norm == "pre")
    words = target_vocab_size * (2 - tied) + source_vocab_size * (not shared)
    return (
        words * d_model,
        n_layers * (attention + feed_forward + 4 * d_model) + last,
        n_layers * (2 * attention + feed_forward + 6 * d_model) + last,
    )


@exercise.mistake("Your numbers are short by a multiple of d_model. What is multiplied and added?")
@changed(right, ("+ 4 * d_model) + last", ")"), ("+ 6 * d_model) + last", ")"))
def norms_are_free():
    """A norm computes mean and variance, so that there is nothing to learn in it."""


@exercise.mistake("With tied weights, how many matrices of target words are there in memory?")
@changed(right, ("target_vocab_size * (2 - tied)", "2 * target_vocab_size"))
def tied_counted_twice():
    """Tied matrices start equal and are two all the same."""


@exercise.mistake("Sinusoids come from a formula. Who would change them?")
@changed(right, ("words *", "(words + max_len * (2 - shared)) *"))
def positions_are_weights():
    """A table of positions has a row to learn for each place."""


@exercise.mistake("Post-norm: what has happened to the output of the last block already?")
@changed(right, (' * (norm == "pre")', ""))
def always_a_last_norm():
    """Every stack ends with a norm of its own."""


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
