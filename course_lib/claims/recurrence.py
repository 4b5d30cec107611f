"""Claims about recurrent networks, the first attention on top of them, cost and path length."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import MultiHeadAttention, attention_weights
from course_lib.claims.finding import Finding
from course_lib.seq2seq import attend, luong_general, luong_readout


def _flops(module: nn.Module, length: int, width: int) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(torch.zeros(1, length, width))
    return counter.get_total_flops()


class _Recurrence(nn.Module):
    """The plain recurrence, step by step, so that every product is seen."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.RNNCell(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(x.shape[0], x.shape[-1])
        for step in x.unbind(dim=1):
            state = self.cell(step, state)
        return state


def luong_shapes() -> Finding:
    """Query, scores, context and readout of attention on a decoder state of width 7."""
    random = torch.Generator().manual_seed(0)
    state = torch.randn(1, 1, 7, generator=random)
    memory = torch.randn(1, 5, 7, generator=random)
    w_a = torch.randn(7, 7, generator=random)
    scores = luong_general(state, memory, w_a)
    context, _ = attend(scores, memory)
    new_state = luong_readout(context, state, torch.randn(7, 14, generator=random))
    shapes = [tuple(x.shape[1:]) for x in (state @ w_a, scores, context, new_state)]
    return Finding(
        holds=shapes == [(1, 7), (1, 5), (1, 7), (1, 7)],
        evidence=f"with 5 source words the query, the scores, the context and the new state have "
        f"the shapes {', '.join(map(str, shapes))}",
    )


def memory_grows_with_length() -> Finding:
    """Bytes kept for the backward pass, and bytes of the state that is carried on."""
    kept, carried = [], []
    for length in (16, 64):
        network, seen = _Recurrence(32), dict[int, int]()

        def note(saved: torch.Tensor, seen: dict[int, int] = seen) -> torch.Tensor:
            seen[saved.data_ptr()] = saved.numel() * saved.element_size()
            return saved

        with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
            state = network(torch.zeros(1, length, 32))
        weights = {p.data_ptr() for p in network.parameters()}
        kept.append(sum(size for pointer, size in seen.items() if pointer not in weights))
        carried.append(state.numel() * state.element_size())
    training = kept[1] / kept[0]
    return Finding(
        holds=training > 3 and carried[1] > carried[0],
        corrected=3 < training < 5 and carried[1] == carried[0],
        evidence=f"from 16 to 64 steps the memory kept for the gradient grows {training:.1f} "
        f"times, the state stays at {carried[1]} bytes",
    )


def work_is_linear_in_length() -> Finding:
    """Operations of a recurrence when its length and its width are doubled."""
    base, longer, wider = (
        _flops(_Recurrence(width), length, width) for length, width in ((8, 16), (16, 16), (8, 32))
    )
    return Finding(
        holds=longer == 2 * base and wider == base,
        corrected=longer == 2 * base and wider == 4 * base,
        evidence=f"twice the length takes {longer / base:.0f} times the work, twice the width "
        f"{wider / base:.0f} times",
    )


def attention_costs_less_than_recurrence() -> Finding:
    """Operations of a whole attention layer against a recurrent layer, at n = 16 and d = 64."""
    n, d = 16, 64
    layer = _flops(MultiHeadAttention(d, n_heads=1, bias=False, fused=False), n, d)
    recurrent = _flops(_Recurrence(d), n, d)
    x = torch.zeros(1, n, d)
    with FlopCounterMode(display=False) as counter:
        attention_weights(x, x) @ x
    products = counter.get_total_flops()
    return Finding(
        holds=layer < recurrent,
        corrected=products < recurrent < layer,
        evidence=f"at n = {n} and d = {d} scores and mixing take {products:,} operations, the "
        f"recurrence {recurrent:,}, but the attention layer with its projections {layer:,}",
    )


def vocabulary_decides() -> Finding:
    """Operations of an attention layer behind a small and behind a large vocabulary."""
    attend_to_self = MultiHeadAttention(32, n_heads=1, fused=False)
    counts = {}
    for size, length in ((1_000, 16), (30_000, 16), (1_000, 32)):
        embedding = nn.Embedding(size, 32)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            attend_to_self(embedding(torch.zeros(1, length, dtype=torch.long)))
        counts[size, length] = counter.get_total_flops()
    small, large, longer = counts.values()
    return Finding(
        holds=small != large,
        corrected=small == large and longer > 2 * small,
        evidence=f"1,000 or 30,000 words: {small:,} and {large:,} operations; twice the length: "
        f"{longer:,}",
    )


def attention_is_quadratic() -> Finding:
    """Operations of scores and mixing when the length and the width are doubled."""

    def count(length: int, width: int) -> int:
        x = torch.zeros(1, length, width)
        with FlopCounterMode(display=False) as counter:
            attention_weights(x, x) @ x
        return counter.get_total_flops()

    base, longer, wider = count(16, 8), count(32, 8), count(16, 16)
    return Finding(
        holds=longer == 4 * base and wider == 2 * base,
        evidence=f"twice the length takes {longer / base:.0f} times the operations, twice the "
        f"width {wider / base:.0f} times",
    )


def _layers_to_reach(connects: list[Tensor]) -> int:
    """After how many layers position 0 has reached the last one; the last pattern repeats."""
    reached = torch.arange(len(connects[0])) == 0
    for layer in range(1, 10_000):
        pattern = connects[min(layer, len(connects)) - 1]
        reached = (pattern & reached).any(dim=-1)
        if reached[-1]:
            return layer
    raise ValueError("the last position is never reached, expected patterns that connect it")


def convolution_path_is_logarithmic() -> Finding:
    """Layers until the last of 81 positions depends on the first one, kernel width 3."""
    n, k = 81, 3
    position = torch.arange(n)
    back = position[:, None] - position
    contiguous = (back >= 0) & (back < k)
    dilated = [(back >= 0) & (back < k * k**layer) & (back % k**layer == 0) for layer in range(10)]
    everything = torch.ones(n, n, dtype=torch.bool)
    layers = [_layers_to_reach(pattern) for pattern in ([contiguous], dilated, [everything])]
    logarithm = round(math.log(n, k))
    return Finding(
        holds=layers[0] <= logarithm,
        corrected=layers[0] == math.ceil((n - 1) / (k - 1)) and layers[1:] == [logarithm, 1],
        evidence=f"contiguous kernels need {layers[0]} layers, dilated ones {layers[1]}, attention "
        f"{layers[2]}",
    )


def convolutions_grow_by_two() -> Finding:
    """Inputs that one output of a stack of 3-wide convolutions depends on."""
    fields = []
    for depth in (1, 2, 3):
        x = torch.ones(1, 1, 21, requires_grad=True)
        out = x
        for _ in range(depth):
            out = F.conv1d(out, torch.ones(1, 1, 3), padding=1)
        (gradient,) = torch.autograd.grad(out[0, 0, 10], x)
        fields.append(int((gradient != 0).sum()))
    return Finding(
        holds=fields == [3, 5, 7],
        evidence=f"one, two and three layers see {fields[0]}, {fields[1]} and {fields[2]} inputs",
    )
