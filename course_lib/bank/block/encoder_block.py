"""Exercise ``block.encoder_block``."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.layers import EncoderBlock


def reference(
    x: Tensor, state: dict[str, Tensor], n_heads: int, norm: str = "pre", mask: Tensor | None = None
) -> Tensor:
    """The library's block with this state."""
    width = state["feed_forward.in_proj.weight"].shape[0]
    block = EncoderBlock(x.shape[-1], n_heads, width, norm=norm)  # type: ignore[arg-type]
    block.to(x.dtype).load_state_dict(state)
    out: Tensor = block.requires_grad_(False)(x, mask=mask)
    return out


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


def _state(
    t: Trial, d_model: int, d_ff: int, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """All parameters of a block, none of them at its first value."""
    state = EncoderBlock(d_model, 1, d_ff).state_dict()
    return {
        name: (
            t.randn(*value.shape, dtype=dtype) * value.shape[-1] ** -0.5
            if value.ndim > 1
            else t.randn(*value.shape, dtype=dtype) * 0.5 + (0.5 if "norm.weight" in name else 0.2)
        )
        for name, value in state.items()
    }


exercise = Exercise(
    id="block.encoder_block",
    function="encoder_block",
    reference=reference,
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


@exercise.prop(
    "both parts, their norms and their residual connections",
    points=2,
    hint="Draw the stream as a line. What stands on it, and what beside it?",
)
def pre_norm(t: Trial) -> None:
    _put_together(t, 2 * t.randn(2, 4, 6) + 1, _state(t, 6, 12), 2)
    _put_together(t, t.randn(1, 5, 8), _state(t, 8, 8), 4, note="four heads")


@exercise.prop(
    'norm="post" puts each norm behind the sum',
    points=1,
    hint="Post-norm is norm(x + f(x)): what does f read, and what is normed?",
)
def post_norm(t: Trial) -> None:
    _put_together(t, 2 * t.randn(2, 4, 6) + 1, _state(t, 6, 12), 3, norm="post")


@exercise.prop(
    "the feed-forward part may have any width and uses the exact GELU",
    points=0.5,
    hint="Print the shapes of the two feed-forward matrices. And which nonlinearity is asked for?",
)
def feed_forward(t: Trial) -> None:
    for width in (2, t.integer(9, 20)):
        t.same(t.randn(1, 3, 4), _state(t, 4, width), 1, note=f"feed-forward width {width}")


@exercise.prop(
    "a mask hides what it says, in both orders",
    points=1,
    hint="Who has a use for the mask? Does it get there?",
)
def mask(t: Trial) -> None:
    # Which token is heard where: whether what is heard is right is asked above.
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
    "where both parts add nothing, pre-norm returns x and post-norm norms it twice",
    points=1,
    hint="Set the last matrix and bias of each part to 0. What is left of your block?",
)
def silent_parts(t: Trial) -> None:
    x, state = 3 * t.randn(2, 3, 4), _state(t, 4, 8)
    for name, value in state.items():
        if "out_proj" in name:
            state[name] = torch.zeros_like(value)
    out = t.a_tensor(t.call(x, state, 2), x.shape)
    t.close(out, x, "pre-norm with silent parts")
    t.same(x, state, 2, norm="post", note="post-norm with silent parts")


@exercise.prop(
    "pre-norm leaves tokens of size 1,000 nearly as they are, post-norm forgets their size",
    points=0.5,
    hint="How much of a token of size 1,000 should be left behind a pre-norm block?",
)
def large_tokens(t: Trial) -> None:
    x, state = 1000 * t.randn(1, 4, 4), _state(t, 4, 8)
    pre = t.a_tensor(t.call(x, state, 2, norm="pre"), x.shape)
    moved = (pre - x).abs().max()
    t.expect(1e-3 < moved < 100, f"a pre-norm block changes them by {moved:g}")
    post = t.a_tensor(t.call(x, state, 2, norm="post"), x.shape)
    t.expect(1e-3 < post.abs().max() < 100, "a post-norm block lets their size through")


@exercise.prop(
    "gradients reach the tokens",
    points=0.5,
    hint="Is anything detached, converted to numpy, or computed under no_grad?",
)
def gradients(t: Trial) -> None:
    state = _state(t, 4, 6, torch.float64)
    t.gradient(t.randn(1, 3, 4, dtype=torch.float64), state, 2)


@exercise.prop(
    "the tokens are left as they were",
    points=0.5,
    hint="`x += out` changes the caller's tokens. What does `x = x + out` do?",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(2, 3, 4), _state(t, 4, 8), 2)


@exercise.mistake("Your stream is normed before it goes on. What is added to what in pre-norm?")
def stream_is_normed(x, state, n_heads, norm="pre", mask=None):
    """In pre-norm x is normed first, and from then on the normed x is x."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        x = ln(x, "attention")
        x = x + multi_head(x, state, n_heads, mask)
        x = ln(x, "feed_forward")
        return x + ffn(x)
    x = ln(x + multi_head(x, state, n_heads, mask), "attention")
    return ln(x + ffn(x), "feed_forward")


@exercise.mistake("In post-norm, is the input inside of what is normed, or is it added afterwards?")
def norm_on_the_part(x, state, n_heads, norm="pre", mask=None):
    """Post-norm norms what a part gives and then adds the input."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        x = x + multi_head(ln(x, "attention"), state, n_heads, mask)
        return x + ffn(ln(x, "feed_forward"))
    x = x + ln(multi_head(x, state, n_heads, mask), "attention")
    return x + ln(ffn(x), "feed_forward")


@exercise.mistake("The state dict has four vectors for norms. How many of them do you use?")
def one_norm(x, state, n_heads, norm="pre", mask=None):
    """Both parts share one norm."""
    width = x.shape[-1:]

    def ln(y):
        return F.layer_norm(y, width, state["attention_norm.weight"], state["attention_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        x = x + multi_head(ln(x), state, n_heads, mask)
        return x + ffn(ln(x))
    x = ln(x + multi_head(x, state, n_heads, mask))
    return ln(x + ffn(x))


@exercise.mistake("Which tokens does the feed-forward part read: those from before attention?")
def side_by_side(x, state, n_heads, norm="pre", mask=None):
    """Both parts read the block's input, and what they give is added up."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        return x + multi_head(ln(x, "attention"), state, n_heads, mask) + ffn(ln(x, "feed_forward"))
    y = ln(x + multi_head(x, state, n_heads, mask), "attention")
    return ln(y + ffn(x), "feed_forward")


@exercise.mistake("Count the plus signs in your block.")
def one_residual(x, state, n_heads, norm="pre", mask=None):
    """One residual connection, around attention, is enough for a block."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        x = x + multi_head(ln(x, "attention"), state, n_heads, mask)
        return ffn(ln(x, "feed_forward"))
    x = ln(x + multi_head(x, state, n_heads, mask), "attention")
    return ln(ffn(x), "feed_forward")


@exercise.mistake("What does your nonlinearity give at -0.5, and what does GELU?")
def relu(x, state, n_heads, norm="pre", mask=None):
    """Any nonlinearity will do in the feed-forward part."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            y.relu(), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    if norm == "pre":
        x = x + multi_head(ln(x, "attention"), state, n_heads, mask)
        return x + ffn(ln(x, "feed_forward"))
    x = ln(x + multi_head(x, state, n_heads, mask), "attention")
    return ln(x + ffn(x), "feed_forward")


@exercise.mistake("Call your block with both orders. Do the outputs differ?")
def always_pre(x, state, n_heads, norm="pre", mask=None):
    """Where the norm stands makes no difference to what a block computes."""
    width = x.shape[-1:]

    def ln(y, name):
        return F.layer_norm(y, width, state[f"{name}_norm.weight"], state[f"{name}_norm.bias"])

    def ffn(y):
        y = F.linear(y, state["feed_forward.in_proj.weight"], state["feed_forward.in_proj.bias"])
        return F.linear(
            F.gelu(y), state["feed_forward.out_proj.weight"], state["feed_forward.out_proj.bias"]
        )

    x = x + multi_head(ln(x, "attention"), state, n_heads, mask)
    return x + ffn(ln(x, "feed_forward"))


@exercise.alternative
def torchs_own_layer(x, state, n_heads, norm="pre", mask=None):
    """Torch's encoder layer with the parameters copied into it; warns."""
    import warnings

    warnings.warn("torch's own", stacklevel=1)
    width = state["feed_forward.in_proj.weight"].shape[0]
    layer = nn.TransformerEncoderLayer(
        x.shape[-1], n_heads, width, dropout=0.0, activation="gelu", batch_first=True,
        norm_first=norm == "pre", dtype=x.dtype,
    )  # fmt: skip
    names = {
        "attention.out_proj": "self_attn.out_proj",
        "attention_norm": "norm1",
        "feed_forward_norm": "norm2",
        "feed_forward.in_proj": "linear1",
        "feed_forward.out_proj": "linear2",
    }
    theirs = {
        f"{other}.{kind}": state[f"{mine}.{kind}"]
        for mine, other in names.items()
        for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        parts = [state[f"attention.{n}_proj.{kind}"] for n in "qkv"]
        theirs[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
    layer.load_state_dict(theirs)
    blocked = None if mask is None else ~mask.expand(len(x), n_heads, -1, -1).flatten(0, 1)
    return layer(x, src_mask=blocked)


@exercise.alternative
def in_a_loop(x, state, n_heads, norm="pre", mask=None):
    """Goes over the two parts in a loop, with the norm and the error function written out."""

    def ln(y, name):
        y = y - y.mean(-1, keepdim=True)
        y = y / torch.sqrt(torch.var(y, -1, keepdim=True, correction=0) + 1e-5)
        return torch.addcmul(state[name + ".bias"], y, state[name + ".weight"])

    def ffn(y):
        y = y @ state["feed_forward.in_proj.weight"].T + state["feed_forward.in_proj.bias"]
        y = y * 0.5 * (1 + torch.erf(y / math.sqrt(2)))
        return y @ state["feed_forward.out_proj.weight"].T + state["feed_forward.out_proj.bias"]

    for name, part in (
        ("attention_norm", lambda y: multi_head(y, state, n_heads, mask)),
        ("feed_forward_norm", ffn),
    ):
        x = x + part(ln(x, name)) if norm == "pre" else ln(x + part(x), name)
    return x
