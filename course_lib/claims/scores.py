"""Claims about scaled dot products and about what self-attention knows of order."""

import torch
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.positions import sinusoidal_positions
from course_lib.transformer import Encoder


def _encoder() -> Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Encoder(16, 2, 32, 2).double()


def appended_and_invariant() -> Finding:
    """Shuffle the tokens of a whole encoder, without positions and with added ones."""
    encoder, order = _encoder(), torch.tensor([3, 0, 5, 1, 4, 2])
    random = torch.Generator().manual_seed(0)
    x = torch.randn(1, 6, 16, generator=random, dtype=torch.float64)
    stays, along = [], []
    with torch.no_grad():
        for codes in (torch.zeros(6, 16), sinusoidal_positions(6, 16)):
            out, moved = encoder(x + codes), encoder(x[:, order] + codes)
            stays.append(float((moved - out).abs().max()))
            along.append(float((moved - out[:, order]).abs().max()))
    width = (x + codes).shape[-1]
    return Finding(
        holds=stays[0] < 1e-9 and width > 16,
        corrected=along[0] < 1e-9 < stays[0] and along[1] > 0.1 and width == 16,
        evidence=f"shuffled tokens change the outputs by {stays[0]:.2f}, and give shuffled outputs "
        f"up to {along[0]:.0e}; with added positions, which leave the width at {width}, these "
        f"differ by {along[1]:.2f}",
    )


def _exchanged(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """A weight of the encoder whose input has its channels in another order."""
    if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "in_proj.weight")):
        return weight[:, order]
    reads_only = name.endswith(("q_proj.bias", "k_proj.bias", "v_proj.bias", "in_proj.bias"))
    return weight if reads_only else weight[order]


def training_commutes_with_exchange() -> Finding:
    """Train on data, on the same with tokens exchanged, and with channels exchanged."""
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 4, 6, 16, generator=random, dtype=torch.float64)
    tokens, channels = (torch.randperm(n, generator=random) for n in (6, 16))

    def trained(x: Tensor, y: Tensor, order: Tensor | None = None) -> dict[str, Tensor]:
        model = _encoder()
        if order is not None:
            state = model.state_dict()
            model.load_state_dict({n: _exchanged(n, w, order) for n, w in state.items()})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
        return {name: w.detach() for name, w in model.named_parameters()}

    def gap(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
        return max(float((one[name] - other[name]).abs().max()) for name in one)

    plain = trained(x, y)
    wanted = {name: _exchanged(name, w, channels) for name, w in plain.items()}
    inter = gap(plain, trained(x[:, tokens], y[:, tokens]))
    same_start = gap(wanted, trained(x[..., channels], y[..., channels]))
    moved_start = gap(wanted, trained(x[..., channels], y[..., channels], channels))
    return Finding(
        holds=max(inter, same_start) < 1e-9,
        corrected=max(inter, moved_start) < 1e-9 < same_start,
        evidence=f"after five steps weights differ by {inter:.0e} if tokens were exchanged; if "
        f"channels were, by {same_start:.2f} from the same start and by {moved_start:.0e} from one "
        "with its rows and columns exchanged likewise",
    )
