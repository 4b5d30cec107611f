from typing import Any

from course_lib.bank.prelude import Exercise, Trial, Wrong
from grader.checks.compare import kind

exercise = Exercise(
    id="transformer.parameter_count",
    points=5,
    minutes=15,
    difficulty=2,
    chapter="09_translator.html#transformer-count",
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
        raise Wrong(f"the result is {kind(found)}, expected {wanted}")
    return list(found)


@exercise.prop(
    1, "Print the names and shapes in `nn.TransformerEncoderLayer(8, 2, 32).named_parameters()`."
)
def encoder(t: Trial) -> None:
    """an encoder: attention, feed-forward sub-layer, two norms, and all their biases"""
    one_of_three(t, 1, *sizes(t), 1)
    one_of_three(t, 1, *sizes(t), t.integer(2, 7))


@exercise.prop(1, "How many attention layers and norms does a decoder block have?")
def decoder(t: Trial) -> None:
    """a decoder: the same, and what it needs to look at the encoder"""
    one_of_three(t, 2, *sizes(t), 1)
    one_of_three(t, 2, *sizes(t), t.integer(2, 7))


@exercise.prop(1, "With tied weights, which matrix turns the last vectors into logits?")
def words(t: Trial) -> None:
    """the matrices of words: one for each side, and the logits use the target's"""
    one_of_three(t, 0, *sizes(t), 2)
    one_of_three(t, 0, *sizes(t), 2, t.integer(5, 2000))


@exercise.prop(
    1, "Untied: which matrix is added, with or without bias? Shared: which is no longer needed?"
)
def tied_and_shared(t: Trial) -> None:
    """untied logits, and one matrix for both sides"""
    source, target, *rest = sizes(t)
    one_of_three(t, 0, source, target, *rest, 2, tied=False)
    one_of_three(t, 0, source, source, *rest, 2, shared=True)
    one_of_three(t, 0, source, source, *rest, 2, tied=False, shared=True)


@exercise.prop(
    1, "What does a head add to the layer: new weights, or a cut through those that are there?"
)
def norms_and_heads(t: Trial) -> None:
    """pre-norm has one more norm at the end of each stack; heads and `max_len` change nothing"""
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
