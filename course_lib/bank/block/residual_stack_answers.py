from course_lib.bank.block.residual_stack import colleagues_stack, exercise
from course_lib.bank.prelude import F, Tensor, nn, torch


@exercise.answer
def reference(
    x: Tensor, matrices: Tensor, keep: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """A pre-norm stack of sub-layers tanh(x W)."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        out = torch.tanh(F.layer_norm(x, width) @ matrix)
        if keep is not None:
            out = out * keep[layer] / (1 - dropout)
        x = x + out
    return F.layer_norm(x, width)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the first symptom above.")(colleagues_stack)


@exercise.mistake("Two things are read from x in each layer. Which of them should be normed?")
def normed_stream(x, matrices, keep=None, dropout=0.0):
    """The normed tokens are what the sub-layer's output is added to."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        x = F.layer_norm(x, width)
        out = torch.tanh(x @ matrix)
        if keep is not None:
            out = out * keep[layer] / (1 - dropout)
        x = x + out
    return F.layer_norm(x, width)


@exercise.mistake("Drop everything once. What is left of the tokens in your stack?")
def stream_dropped(x, matrices, keep=None, dropout=0.0):
    """Dropout comes last in a layer, so it acts on the sum."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        x = x + torch.tanh(F.layer_norm(x, width) @ matrix)
        if keep is not None:
            x = x * keep[layer] / (1 - dropout)
    return F.layer_norm(x, width)


@exercise.mistake("How large is what comes out after 24 layers?")
def no_last_norm(x, matrices, keep=None, dropout=0.0):
    """Each layer has a norm of its own, so the stack needs none."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        out = torch.tanh(F.layer_norm(x, width) @ matrix)
        if keep is not None:
            out = out * keep[layer] / (1 - dropout)
        x = x + out
    return x


@exercise.mistake("If half of the numbers are dropped, what becomes of the mean?")
def not_scaled_up(x, matrices, keep=None, dropout=0.0):
    """Dropping is all there is to dropout."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        out = torch.tanh(F.layer_norm(x, width) @ matrix)
        x = x + (out if keep is None else out * keep[layer])
    return F.layer_norm(x, width)


@exercise.mistake("Does a sub-layer read normed tokens in your version?")
def post_norm(x, matrices, keep=None, dropout=0.0):
    """The norm follows each sum, so the last one is there already."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        out = torch.tanh(x @ matrix)
        if keep is not None:
            out = out * keep[layer] / (1 - dropout)
        x = F.layer_norm(x + out, width)
    return x if len(matrices) else F.layer_norm(x, width)


@exercise.mistake("What does the mask hide: what a sub-layer reads, or what it adds?")
def input_dropped(x, matrices, keep=None, dropout=0.0):
    """Dropout hides channels of what a sub-layer reads."""
    width = x.shape[-1:]
    for layer, matrix in enumerate(matrices):
        read = F.layer_norm(x, width)
        if keep is not None:
            read = read * keep[layer] / (1 - dropout)
        x = x + torch.tanh(read @ matrix)
    return F.layer_norm(x, width)


@exercise.alternative
def sum_of_parts(x, matrices, keep=None, dropout=0.0):
    """Keeps the list of all that was added, and sums it up again for every layer; warns."""
    import warnings

    warnings.warn("summing again", stacklevel=1)
    norm = nn.LayerNorm(x.shape[-1], elementwise_affine=False)
    added = [x]
    for layer in range(matrices.shape[0]):
        part = (norm(sum(added)) @ matrices[layer]).tanh()
        if keep is not None:
            part = part.where(keep[layer], torch.zeros_like(part)).div(1 - dropout)
        added.append(part)
    return norm(torch.stack(added).sum(0))


@exercise.alternative
def recursive(x, matrices, keep=None, dropout=0.0):
    """One layer, and the rest of the stack as a stack; the norm written out."""

    def norm(y):
        y = y - y.mean(-1, keepdim=True)
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)

    def rest(y, layer):
        if layer == len(matrices):
            return norm(y)
        out = 1 - 2 / (torch.exp(2 * torch.einsum("...i,ij->...j", norm(y), matrices[layer])) + 1)
        if keep is not None:
            out = torch.where(keep[layer], out / (1 - dropout), 0.0)
        return rest(y + out, layer + 1)

    return rest(x, 0)
