from course_lib.bank.heads.head_cost import exercise


@exercise.answer
def reference(
    d_model: int, n_heads: int, n_queries: int, n_keys: int, batch: int = 1, bias: bool = False
) -> tuple[int, int, int]:
    """Parameters, multiplications and weights to keep."""
    parameters = 4 * d_model**2 + (4 * d_model if bias else 0)
    products = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return parameters, batch * products, batch * n_heads * n_queries * n_keys


@exercise.mistake("From how many channels are a head's queries made, and how wide are they?")
def full_width_heads(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Each head has projections of the full width, so heads multiply the parameters."""
    size = 4 * n_heads * (d_model**2 + bias * d_model)
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("A head is narrower. But how many of them are there?")
def heads_save_parameters(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Narrow heads make the layer smaller."""
    width = d_model // n_heads
    size = 4 * (d_model * width + bias * width)
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("What happens to the heads once they are side by side?")
def three_projections(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Attention has three projections, for queries, keys and values."""
    size = 3 * d_model**2 + 3 * bias * d_model
    work = (n_queries + 2 * n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Does a score of one head sum over d_model products?")
def each_head_works_in_full(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """H heads take H times the work of one for scores and weighted sums."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_heads * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Does each head have its own map, or do they share one?")
def one_map(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """What is cut into heads costs no more memory than one head."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_queries * n_keys


@exercise.mistake("Keys and values: from whose tokens are they made, and how many are those?")
def all_from_queries(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """All four projections work on the tokens that ask."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 4 * n_queries * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Weights are computed, then used. Which of these two products is missing?")
def scores_only(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Once the weights are there, using them costs nothing."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.alternative
def list_of_products(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Lists every matrix product of every head, and warns."""
    import warnings

    warnings.warn("counting", stacklevel=1)
    d, h = d_model, n_heads
    w = d // h
    products = [(n_queries, d, w), (n_keys, d, w), (n_keys, d, w),
                (n_queries, w, n_keys), (n_queries, n_keys, w), (n_queries, w, d)] * h  # fmt: skip
    numbers = sum(3 * d * w + w * d + (3 * w if bias else 0) for _ in range(h))
    return (
        numbers + (d if bias else 0),
        batch * sum(a * b * c for a, b, c in products),
        batch * h * n_queries * n_keys,
    )


@exercise.alternative
def asked_of_torch(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Lets torch hold the parameters and count them."""
    import torch
    from torch import nn

    with torch.device("meta"):
        layer = nn.MultiheadAttention(d_model, n_heads, bias=bias)
        maps = torch.empty(batch, n_heads, n_queries, n_keys)
    square = layer.out_proj.weight.numel()
    per_sentence = 2 * square * n_queries + 2 * square * n_keys
    return (
        sum(p.numel() for p in layer.parameters()),
        batch * (per_sentence + 2 * d_model * n_queries * n_keys),
        maps.numel(),
    )
