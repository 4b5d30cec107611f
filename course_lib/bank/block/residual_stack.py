from typing import Any

from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch


def _matrices(t: Trial, n_layers: int, d_model: int) -> Tensor:
    return t.randn(n_layers, d_model, d_model) * d_model**-0.5


exercise = Exercise(
    id="block.residual_stack",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="06_block.html#block-order",
    outcomes=("block.assemble", "block.stream"),
    example=lambda t: (t.randn(2, 3, 4), _matrices(t, 2, 4)),
    severe={"post_norm": "every norm is in another place, and the first one is missing"},
)


def _stream(t: Trial, *args: Any, note: str = "") -> None:
    """Compare what arrives, normed once more: whether it was normed is asked on its own."""
    got, want = t.call(*args), t.want(*args)
    got = F.layer_norm(t.a_tensor(got, want.shape), want.shape[-1:])
    want = F.layer_norm(want, want.shape[-1:])
    # A norm of what is normed already moves the fifth digit.
    t.close(got.half(), want.half(), "what arrives, normed", note=note)


@exercise.prop(1.5, "Begin with one layer, and print the stream after it. Is it x plus something?")
def values(t: Trial) -> None:
    """several layers without dropout"""
    _stream(t, 3 * t.randn(2, 3, 6) + 1, _matrices(t, t.integer(2, 4), 6))
    _stream(t, t.randn(4, 8), _matrices(t, 24, 8), note="24 layers")


@exercise.prop(0.5, "Print the variance of what comes out, for 2 layers and for 24.")
def normed_at_the_end(t: Trial) -> None:
    """what reads the stack gets tokens of mean 0 and variance 1, with no layers, too"""
    for n_layers in (0, t.integer(3, 9)):
        x = 5 * t.randn(3, 8) + 2
        note = f"{n_layers} layers"
        out = t.a_tensor(t.call(x, _matrices(t, n_layers, 8)), (3, 8))
        t.close(out.mean(-1), torch.zeros(3), "a token's mean", note=note)
        spread = out.var(-1, correction=0)
        t.close(spread, torch.ones(3), "a token's variance", note=note)
        moved = (out - F.layer_norm(x, (8,))).abs().max()
        t.expect(n_layers == 0 or moved > 1e-3, f"{note}: they add nothing")


@exercise.prop(1, "A mask that drops everything: what should be left of x?")
def dropout(t: Trial) -> None:
    """dropout drops what a sub-layer adds, and never the stream"""
    # A sub-layer that is dropped whole might as well not be there; dropout 0 scales nothing.
    x, matrices = 3 * t.randn(2, 3, 6), _matrices(t, 3, 6)
    kept: tuple[list[int], ...] = ([1, 2], [0, 2], [t.integer(0, 1)], [])
    arrived = []
    for layers in (torch.tensor(some, dtype=torch.long) for some in kept):
        keep = torch.zeros(3, 2, 3, 6, dtype=torch.bool)
        keep[layers] = True
        without = t.a_tensor(t.call(x, matrices[layers]), x.shape)
        note = f"sub-layers {layers.tolist()} kept, the others dropped"
        got = t.a_tensor(t.call(x, matrices, keep, 0.0), x.shape)
        t.close(got.half(), without.half(), note=f"{note}, against these alone")
        arrived.append(got)
    t.expect((arrived[0] != arrived[-1]).any(), "it is all the same which sub-layers are kept")
    keep = t.keep_mask(3, 1, 3, 6)
    both = t.call(x, matrices, keep.expand(3, 2, 3, 6).clone(), 0.4)
    both = t.a_tensor(both, x.shape)
    alone = t.call(x[1:], matrices, keep, 0.4)
    t.close(alone, both[1:], "the second sentence alone, with its mask")


@exercise.prop(0.5, "What should the mean over many masks be?")
def dropout_scale(t: Trial) -> None:
    """what is kept is scaled up by 1 / (1 - dropout)"""
    everything = torch.ones(2, 2, 6, dtype=torch.bool)
    _stream(t, t.randn(2, 6), _matrices(t, 2, 6), everything, 0.75, note="all kept")
    _stream(t, t.randn(2, 6), _matrices(t, 2, 6), everything, note="dropout not given")
    _stream(t, t.randn(2, 6), _matrices(t, 2, 6), None, 0.75, note="nothing is dropped")


@exercise.prop(
    0.5, "Double x and leave the sub-layers as they are. Whose share in the stream grows?"
)
def large_tokens(t: Trial) -> None:
    """the stream is not normed on its way: the larger x, the more of it arrives"""
    _stream(t, 50 * t.randn(2, 3, 6), _matrices(t, 8, 6), note="tokens of size 50")


@exercise.prop(0.5, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach the tokens, past what is dropped, and the matrices"""
    f64 = torch.float64
    x, matrices = t.randn(2, 4, dtype=f64), t.randn(3, 4, 4, dtype=f64) / 2
    nothing = torch.zeros(3, 2, 4, dtype=torch.bool)
    t.gradient(x, matrices)
    t.gradient(x, matrices, nothing)


@exercise.prop(0.5, "`x += out` changes the caller's tokens. What does `x = x + out` do?")
def no_side_effect(t: Trial) -> None:
    """x is left as it was"""
    t.unchanged(t.randn(2, 3, 4), _matrices(t, 2, 4))


def colleagues_stack(x, matrices, keep=None, dropout=0.0):
    """The places of a norm, a sum and a dropout are a matter of taste."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        x = F.layer_norm(x, width)
        x = x + torch.tanh(x @ matrix)
        if keep is not None:
            x = x * keep[layer] / (1 - dropout)
    return x
