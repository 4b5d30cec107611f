from typing import Any

from course_lib.bank.prelude import Exercise, F, Tensor, Trial, math, torch
from course_lib.layers import EncoderBlock


def multi_head(x, state, n_heads, mask=None):
    """Self-attention of chapter 4 with the matrices of a state dict, x (B, T, d_model)."""

    def project(y, name):
        return F.linear(y, state[f"attention.{name}.weight"], state[f"attention.{name}.bias"])

    def cut(y):
        return y.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    q, k, v = (cut(project(x, name)) for name in ("q_proj", "k_proj", "v_proj"))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    heads = scores.softmax(dim=-1) @ v
    return project(heads.transpose(1, 2).flatten(2), "out_proj")


def _state(t: Trial, d_model: int, d_ff: int) -> dict[str, Tensor]:
    """All parameters of a block, none of them at its first value."""
    state = EncoderBlock(d_model, 1, d_ff).state_dict()
    return {
        name: (
            t.randn(*value.shape) * value.shape[-1] ** -0.5
            if value.ndim > 1
            else t.randn(*value.shape) * 0.5 + (0.5 if "norm.weight" in name else 0.2)
        )
        for name, value in state.items()
    }


exercise = Exercise(
    id="block.encoder_block",
    points=7,
    minutes=25,
    difficulty=3,
    chapter="06_block.html#block-order",
    outcomes=("block.assemble",),
    given=(multi_head,),
    example=lambda t: (t.randn(2, 3, 4), _state(t, 4, 8), 2),
    severe={"one_residual": "half of the stream is lost in either order"},
)


def _put_together(t: Trial, *args: Any, note: str = "", **norm: str) -> None:
    """Compare coarsely: which GELU it is shows in the fourth digit, and is asked on its own."""
    got, want = t.call(*args, **norm), t.want(*args, **norm)
    far = (t.a_tensor(got, want.shape) - want).abs().max()
    t.expect(far < 0.01, f"{note + ': ' if note else ''}the tokens are off by up to {far:.3g}")


@exercise.prop(2, "Draw the stream as a line. What is on it, and what beside it?")
def pre_norm(t: Trial) -> None:
    """both sub-layers, their norms and their residual connections"""
    _put_together(t, 2 * t.randn(2, 4, 6) + 1, _state(t, 6, 12), 2)
    _put_together(t, t.randn(1, 5, 8), _state(t, 8, 8), 4, note="four heads")


@exercise.prop(1, "Post-norm is norm(x + f(x)): what does f read, and what is normed?")
def post_norm(t: Trial) -> None:
    """norm="post" applies each norm after the sum"""
    _put_together(t, 2 * t.randn(2, 4, 6) + 1, _state(t, 6, 12), 3, norm="post")


@exercise.prop(
    0.5, "Print the shapes of the two feed-forward matrices. And which nonlinearity is expected?"
)
def feed_forward(t: Trial) -> None:
    """the feed-forward sub-layer may have any width and uses the exact GELU"""
    for width in (2, t.integer(9, 20)):
        t.same(3 * t.randn(1, 3, 8), _state(t, 8, width), 1, note=f"feed-forward width {width}")


@exercise.prop(1, "Which sub-layer needs the mask? Does it get there?")
def mask(t: Trial) -> None:
    """a mask hides what it says, in both orders"""
    # Places of the tokens: whether what is heard is right is asked above.
    for norm in ("pre", "post"):
        state, x, keep = _state(t, 4, 6), t.randn(1, 4, 4), t.keep_mask(1, 1, 4, 4)
        keep[..., range(4), range(4)] = True
        before = t.a_tensor(t.call(x, state, 2, norm=norm, mask=keep), x.shape)
        heard = torch.zeros(4, 4, dtype=torch.bool)
        for token in range(4):
            other = x.clone()
            other[0, token] = 3 * t.randn(4) + 1
            after = t.a_tensor(t.call(other, state, 2, norm=norm, mask=keep), x.shape)
            heard[:, token] = (after - before)[0].abs().amax(-1) > 1e-5
        t.close(heard, keep[0, 0], "which token hears which", note=f"{norm}-norm")


@exercise.prop(
    1, "Set the last matrix and bias of each sub-layer to 0. What is left of your block?"
)
def silent_parts(t: Trial) -> None:
    """where both sub-layers add nothing, pre-norm returns x, post-norm norms it twice"""
    x, state = 3 * t.randn(2, 3, 8), _state(t, 8, 8)
    for name, value in state.items():
        if "out_proj" in name:
            state[name] = torch.zeros_like(value)
    out = t.a_tensor(t.call(x, state, 2), x.shape)
    t.close(out, x, "pre-norm with silent sub-layers")
    t.same(x, state, 2, norm="post", note="post-norm with silent sub-layers")
    # Tokens so small that the epsilon is seen.
    t.same(x / 1000, state, 2, norm="post", note="post-norm of small tokens, silent sub-layers")


@exercise.prop(0.5, "How much of a token of size 1,000 should be left after a pre-norm block?")
def large_tokens(t: Trial) -> None:
    """pre-norm leaves tokens of size 1,000 nearly as they are, post-norm forgets their size"""
    x, state = 1000 * t.randn(1, 4, 4), _state(t, 4, 8)
    pre = t.a_tensor(t.call(x, state, 2, norm="pre"), x.shape)
    moved = (pre - x).abs().max()
    t.expect(1e-3 < moved < 100, f"a pre-norm block changes them by {moved:g}")
    post = t.a_tensor(t.call(x, state, 2, norm="post"), x.shape)
    t.expect(1e-3 < post.abs().max() < 100, "a post-norm block lets their size through")


@exercise.prop(0.5, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach the tokens"""
    # In single precision: modules that load the state have no other.
    t.gradient(t.randn(1, 3, 4), _state(t, 4, 6), 2)


@exercise.prop(0.5, "`x += out` changes the caller's tokens. What does `x = x + out` do?")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 4), _state(t, 4, 8), 2)
