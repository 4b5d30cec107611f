from course_lib.bank.block.encoder_block import exercise, multi_head
from course_lib.bank.prelude import F, Tensor, changed, math, nn, torch
from course_lib.layers import EncoderBlock


@exercise.answer
def reference(
    x: Tensor, state: dict[str, Tensor], n_heads: int, norm: str = "pre", mask: Tensor | None = None
) -> Tensor:
    """The library's block with this state."""
    width = state["feed_forward.in_proj.weight"].shape[0]
    block = EncoderBlock(x.shape[-1], n_heads, width, norm=norm)  # type: ignore[arg-type]
    block.to(x.dtype).load_state_dict(state)
    out: Tensor = block.requires_grad_(False)(x, mask=mask)
    return out


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


def right(x, state, n_heads, norm="pre", mask=None):
    """Base of the mistakes, itself right."""
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
    x = ln(x + multi_head(x, state, n_heads, mask), "attention")
    return ln(x + ffn(x), "feed_forward")


@exercise.mistake("In post-norm, is the input inside of what is normed, or is it added afterwards?")
@changed(right, ("= ln(x +", "= x + ln("), ("ln(x + ffn", "x + ln(ffn"))
def norm_on_the_part():
    """Post-norm norms what a sub-layer gives and then adds the input."""


@exercise.mistake("The state dict has four vectors for norms. How many of them do you use?")
def one_norm(x, state, n_heads, norm="pre", mask=None):
    """Both sub-layers share one norm."""
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


@exercise.mistake("Which tokens does the feed-forward sub-layer read: those from before attention?")
def side_by_side(x, state, n_heads, norm="pre", mask=None):
    """Both sub-layers read the block's input, and what they give is added up."""
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
@changed(right, ("x + ffn(ln", "ffn(ln"), ("(x + ffn", "(ffn"))
def one_residual():
    """One residual connection, around attention, is enough for a block."""


@exercise.mistake("What does your nonlinearity give at -0.5, and what does GELU?")
@changed(right, ("F.gelu(y", "y.relu("))
def relu():
    """Any nonlinearity will do in the feed-forward sub-layer."""


@exercise.mistake("Call your block with both orders. Do the outputs differ?")
def always_pre(x, state, n_heads, norm="pre", mask=None):
    """The place of the norm makes no difference to what a block computes."""
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


@exercise.mistake(
    "Hide one token from all others. Who still hears it, and who has been told of the mask?"
)
def mask_forgotten(x, state, n_heads, norm="pre", mask=None):
    """Who may look at whom is the affair of whoever calls the block."""

    def ln(y, name):
        weight, bias = state[f"{name}_norm.weight"], state[f"{name}_norm.bias"]
        return F.layer_norm(y, x.shape[-1:], weight, bias)

    def linear(y, name):
        weight, bias = state[f"feed_forward.{name}.weight"], state[f"feed_forward.{name}.bias"]
        return F.linear(y, weight, bias)

    def ffn(y):
        return linear(F.gelu(linear(y, "in_proj")), "out_proj")

    if norm == "pre":
        x = x + multi_head(ln(x, "attention"), state, n_heads)
        return x + ffn(ln(x, "feed_forward"))
    x = ln(x + multi_head(x, state, n_heads), "attention")
    return ln(x + ffn(x), "feed_forward")


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
    """Goes over the two sub-layers in a loop, with the norm and the error function written out."""

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
