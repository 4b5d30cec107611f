"""Claims about the whole Transformer: its size, its cache, and what it is joined to."""

from collections import Counter

import torch
from torch import Tensor, nn

from course_lib.claims.finding import Finding
from course_lib.transformer import Decoder
from course_lib.transformer.wiring import conditioned_block


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
        steps = [decoder(x[:, t : t + 1], memory if t == 0 else None, caches=caches)
                 for t in range(8)]  # fmt: skip
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
