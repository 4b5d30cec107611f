from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.bank.senses.look_across import exercise


@exercise.answer
def reference(x: Tensor, memory: Tensor, keep: Tensor, gate: Tensor) -> Tensor:
    """Words, and what they find among the patches they may see, through a gate."""
    return x + gate.tanh() * scaled_dot_product_attention(x, memory, memory, mask=keep)[0]


@exercise.mistake("What is 3 let through your gate, and what is -3?")
def gate_not_squashed(x, memory, keep, gate):
    """The gate is the number itself."""
    scores = (x @ memory.mT / math.sqrt(x.shape[-1])).masked_fill(~keep, float("-inf"))
    scores = scores.masked_fill(~keep.any(-1, keepdim=True), 0.0)
    weights = scores.softmax(-1).masked_fill(~keep, 0.0)
    return x + gate * (weights @ memory)


@exercise.mistake("With a gate of 0, does the layer leave the words alone?")
def sigmoid_gate(x, memory, keep, gate):
    """Gates are sigmoids."""
    scores = (x @ memory.mT / math.sqrt(x.shape[-1])).masked_fill(~keep, float("-inf"))
    scores = scores.masked_fill(~keep.any(-1, keepdim=True), 0.0)
    weights = scores.softmax(-1).masked_fill(~keep, 0.0)
    return x + gate.sigmoid() * (weights @ memory)


@exercise.mistake("Open the gate wide. What is left of the word itself?")
def gate_mixes(x, memory, keep, gate):
    """A gate takes from the word what it lets in of the image."""
    scores = (x @ memory.mT / math.sqrt(x.shape[-1])).masked_fill(~keep, float("-inf"))
    scores = scores.masked_fill(~keep.any(-1, keepdim=True), 0.0)
    weights = scores.softmax(-1).masked_fill(~keep, 0.0)
    return (1 - gate.tanh()) * x + gate.tanh() * (weights @ memory)


@exercise.mistake("Print the weights of a word that sees no image.")
def evenly_where_empty(x, memory, keep, gate):
    """A large negative number is as good as minus infinity."""
    scores = (x @ memory.mT / math.sqrt(x.shape[-1])).masked_fill(~keep, torch.finfo(x.dtype).min)
    return x + gate.tanh() * (scores.softmax(-1) @ memory)


@exercise.mistake("What is 0 / 0, and in which row is it computed?")
def nothing_from_nothing(x, memory, keep, gate):
    """A softmax over nothing is nothing."""
    scores = (x @ memory.mT / math.sqrt(x.shape[-1])).masked_fill(~keep, float("-inf"))
    return x + gate.tanh() * (scores.softmax(-1) @ memory)


@exercise.mistake("What do the weights of a word add up to that sees half of the patches?")
def masked_afterwards(x, memory, keep, gate):
    """Weights are masked after the softmax."""
    weights = (x @ memory.mT / math.sqrt(x.shape[-1])).softmax(-1) * keep
    return x + gate.tanh() * (weights @ memory)


@exercise.mistake(
    "With which keys does the softmax of a word compare the patches? With words, too?"
)
def words_compete(x, memory, keep, gate):
    """Words and patches share one softmax."""
    T = x.shape[1]
    both = torch.cat([x, memory], dim=1)
    seen = torch.cat([torch.ones(*x.shape[:2], T, dtype=torch.bool), keep], dim=-1)
    scores = (x @ both.mT / math.sqrt(x.shape[-1])).masked_fill(~seen, float("-inf"))
    return x + gate.tanh() * (scores.softmax(-1)[..., T:] @ memory)


@exercise.mistake("How large are scores of width 64, and by what are they divided?")
def not_scaled(x, memory, keep, gate):
    """Only self-attention needs its scores scaled."""
    scores = (x @ memory.mT).masked_fill(~keep, float("-inf"))
    scores = scores.masked_fill(~keep.any(-1, keepdim=True), 0.0)
    weights = scores.softmax(-1).masked_fill(~keep, 0.0)
    return x + gate.tanh() * (weights @ memory)


@exercise.alternative
def seeing_words_only(x, memory, keep, gate):
    """Computes one text after another, for words that see something only."""
    out = x.clone()
    for b in range(len(x)):
        sees = keep[b].any(-1)
        if sees.any():
            scores = torch.einsum("td,sd->ts", x[b][sees], memory[b]) * x.shape[-1] ** -0.5
            weights = scores.masked_fill(~keep[b][sees], -torch.inf).softmax(-1)
            out[b, sees] = x[b][sees] + torch.tanh(gate) * (weights @ memory[b])
    return out


@exercise.alternative
def by_exponentials(x, memory, keep, gate):
    """Exponentials less the largest visible score, divided by their sum; warns."""
    import warnings

    warnings.warn("by hand", stacklevel=1)
    if memory.shape[1] == 0:
        return x + 0 * gate
    scores = (x @ memory.transpose(1, 2)) / x.shape[-1] ** 0.5
    top = torch.where(keep, scores, torch.finfo(x.dtype).min).amax(-1, keepdim=True)
    powers = torch.where(keep, (torch.where(keep, scores, top) - top).exp(), 0.0)
    total = powers.sum(-1, keepdim=True)
    weights = powers / torch.where(total == 0, 1.0, total)
    return x + gate.tanh() * (weights @ memory)


@exercise.alternative
def softmax_in_single(x, memory, keep, gate):
    """A softmax in single precision, cast back, as large models write it."""
    scores = x @ memory.mT * x.shape[-1] ** -0.5
    lowest = torch.finfo(x.dtype).min
    weights = F.softmax(scores.masked_fill(~keep, lowest), dim=-1, dtype=torch.float32)
    seen = weights.to(x.dtype).masked_fill(~keep, 0.0) @ memory
    return x + torch.tanh(gate) * seen
