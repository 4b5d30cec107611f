"""Claims about the parts of a Transformer block, and about the whole of it."""

from collections import Counter

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.claims.finding import Finding
from course_lib.layers import DecoderBlock, layer_norm, xavier_init
from course_lib.transformer import Decoder
from course_lib.transformer.wiring import conditioned_block


def _randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def cross_attention_roles() -> Finding:
    """Weights of a decoder block that change with the memory, and the output without memory."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = DecoderBlock(32, 4, 64, bias=False)
    x, memory = _randn(1, 4, 32), _randn(1, 6, 32, seed=1)
    _, own, cross = block(x, memory, return_weights=True)
    _, own_then, cross_then = block(x, memory.flip(1) * 2, return_weights=True)
    shift_own, shift = float((own - own_then).abs().max()), float((cross - cross_then).abs().max())
    silent = float(block.cross_attention(x, torch.zeros_like(memory)).abs().max())
    return Finding(
        holds=shift_own == 0 and shift > 0.01 and silent == 0 and cross.shape[-2:] == (4, 6),
        evidence=f"4 tokens ask a memory of 6: weights {tuple(cross.shape[-2:])}; with another "
        f"memory they move by up to {shift:.2f}, those of the masked self-attention by "
        f"{shift_own:g}; a memory of zeros gives an output of {silent:g}",
    )


def cross_attention_paths() -> Finding:
    """Gradients of a decoder block's loss, with everything of the decoder frozen but its input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = DecoderBlock(32, 4, 64).requires_grad_(False)
    x, memory = _randn(1, 4, 32).requires_grad_(), _randn(1, 6, 32, seed=1).requires_grad_()
    block(x, memory).square().mean().backward()
    assert x.grad is not None and memory.grad is not None
    decoder, encoder = float(x.grad.norm()), float(memory.grad.norm())
    attend = block.cross_attention
    through = {}
    for name, k, v in (("keys", memory, memory.detach()), ("values", memory.detach(), memory)):
        out = attend(x.detach(), k, v)
        through[name] = float(torch.autograd.grad(out.square().mean(), memory)[0].norm())
    return Finding(
        holds=min(decoder, encoder, *through.values()) > 1e-5,
        evidence=f"with the block frozen, a gradient of norm {decoder:.2f} reaches its input and "
        f"{encoder:.3f} the memory; through the keys of the cross-attention alone "
        f"{through['keys']:.4f}, through its values {through['values']:.4f}",
    )


def xavier_variance() -> Finding:
    """Variance of an initialised matrix of widths 400 and 512, for weights and a layer."""
    layer = nn.Linear(400, 512)
    xavier_init(layer, generator=torch.Generator().manual_seed(0))
    wanted, found = 2 / 912, float(layer.weight.detach().var())
    attend = MultiHeadAttention(8, 2)
    xavier_init(attend, generator=torch.Generator().manual_seed(0))
    biases = float(attend.q_proj.bias.detach().abs().max())
    return Finding(
        holds=abs(found / wanted - 1) < 0.02 and biases == 0,
        evidence=f"variance {found:.6f} of 400 x 512 weights, 2/(400 + 512) = {wanted:.6f}; as a "
        f"standard deviation that number would be {wanted**0.5 / wanted:.0f} times too small",
    )


def tiny_epsilon() -> Finding:
    """Value of 1e-12 in half precision, and its effect on a token that hardly varies."""
    half = float(torch.tensor(1e-12, dtype=torch.float16))
    nearly_constant = 123.4 + 1e-5 * _randn(1, 256)
    out = {
        eps: float(layer_norm(nearly_constant, eps=eps).std(correction=0)) for eps in (1e-12, 1e-5)
    }
    constant = float(layer_norm(torch.full((1, 256), 0.5), eps=1e-12).abs().max())
    return Finding(
        holds=half > 0 and out[1e-12] < 0.1,
        corrected=half == 0 and constant == 0 and out[1e-12] > 0.1 > out[1e-5],
        evidence=f"1e-12 is {half:g} in float16; rounding noise around 123.4 comes out with a "
        f"standard deviation of {out[1e-12]:.2f}, with 1e-5 of {out[1e-5]:.4f}; a constant token "
        f"gives {constant:g}",
    )


def only_queries_are_recomputed() -> Finding:
    """Count which projections a decoder calls while it writes, and compare with no cache."""
    random = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        decoder = Decoder(16, n_heads=2, d_ff=32, n_layers=1).eval()
    x, memory = (torch.randn(1, n, 16, generator=random) for n in (8, 5))
    calls: Counter[str] = Counter()

    def note(name: str) -> None:
        decoder.get_submodule(name).register_forward_hook(
            lambda *_: calls.update([name.removeprefix("blocks.0.")])
        )

    linear = [name for name, part in decoder.named_modules() if isinstance(part, nn.Linear)]
    for name in linear:
        note(name)
    caches = decoder.make_caches()
    with torch.no_grad():
        steps = [
            decoder(x[:, t : t + 1], memory if t == 0 else None, caches=caches) for t in range(8)
        ]
        error = float((torch.cat(steps, dim=1) - decoder(x, memory)).abs().max())
    # The last pass, without caches, called each once more.
    counts = {name: number - 1 for name, number in calls.items()}
    once = sorted(name for name, number in counts.items() if number == 1)
    of_memory = [name for name in once if name.endswith(("k_proj", "v_proj"))]
    each = [name for name, number in counts.items() if number == 8]
    return Finding(
        holds=all(name.endswith("q_proj") for name in each),
        corrected=len(once) == len(of_memory) == 2
        and len(each) == len(linear) - 2
        and error < 1e-5,
        evidence=f"in 8 steps {len(once)} of {len(linear)} linear maps of a decoder block run once "
        f"({', '.join(once)}), the other {len(each)} at every step; the outputs differ by "
        f"{error:.0e} from those without a cache",
    )


def _sequences() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    return torch.randn(1, 4, 8, generator=random), torch.randn(1, 6, 8, generator=random)


def llava_cross_attends() -> Finding:
    """Compare blocks with a decoder alone that reads picture and words in one sequence."""
    own, memory = _sequences()
    stream = torch.cat([memory, own], dim=1)
    alone = conditioned_block("gpt", stream, memory)[:, 6:]
    apart = {
        name: float((conditioned_block(name, own, memory, gate=1.0) - alone).abs().max())
        for name in ("llava", "flamingo", "bart")
    }
    return Finding(
        holds=apart["llava"] > 1e-3,
        corrected=apart["llava"] < 1e-6 < min(apart["flamingo"], apart["bart"]),
        evidence=f"LLaVA's wiring differs by {apart['llava']:.0e} from a decoder alone that reads "
        f"the picture as its first words, Flamingo's by {apart['flamingo']:.2f}",
    )


def conditioned_module_asks() -> Finding:
    """Ask of each wiring whether a token at which nobody looks still asks for the memory."""
    own, memory = _sequences()
    # A memory of one token is fetched whole by whoever asks for it in a softmax of its own.
    single = memory[:, :1]
    fetched = {}
    for name in ("bart", "whisper", "stable-diffusion", "llava"):
        moved = conditioned_block(name, own, single + 1) - conditioned_block(name, own, single)
        fetched[name] = float((moved - 1).abs().max())
    asks = [name for name, error in fetched.items() if error < 1e-5]
    return Finding(
        holds=len(asks) == len(fetched),
        corrected=asks == ["bart", "whisper", "stable-diffusion"] and fetched["llava"] > 0.1,
        evidence=f"a memory of one token reaches every asking token whole in {', '.join(asks)}; in "
        f"LLaVA it competes with the words, and up to {fetched['llava']:.2f} of it is missing",
    )
