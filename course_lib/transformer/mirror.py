"""A task that takes attention and little else, to see which stacks learn at all: read backwards."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.transformer.depth import Arrangement, Start, arranged_block, arranged_stack

N_DIGITS = 10
LENGTH = 12


class Mirror(nn.Module):
    """Digits and places embedded, a stack, and a guess for each place."""

    def __init__(
        self,
        arrangement: Arrangement,
        n_layers: int,
        d_model: int = 32,
        n_heads: int = 4,
        length: int = LENGTH,
        start: Start = "xavier",
    ) -> None:
        super().__init__()
        self.arrangement = arrangement
        self.digits = nn.Embedding(N_DIGITS, d_model)
        self.places = nn.Parameter(torch.randn(length, d_model))
        self.stack = arranged_stack(arrangement, n_layers, d_model, n_heads, start)
        self.guess = nn.Linear(d_model, N_DIGITS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Guess the digit at the mirrored place: digits ``(B, T)`` to logits ``(B, T, 10)``."""
        x = self.digits(tokens) + self.places
        for block in self.stack.blocks:
            x = arranged_block(self.arrangement, block, x)
        logits: Tensor = self.guess(self.stack.norm(x))
        return logits


def train_mirror(
    arrangement: Arrangement,
    n_layers: int,
    *,
    lr: float = 3e-3,
    warm_up: int = 0,
    gain: float = 1.0,
    start: Start = "xavier",
    steps: int = 150,
    seed: int = 0,
) -> list[float]:
    """Train with Adam on random digits: each step's loss, in nats per digit; guessing has 2.30.

    The learning rate rises to ``lr`` over ``warm_up`` steps, of 32 sequences each; matrices
    start by Xavier or as torch draws them, each sub-layer's last one multiplied by ``gain``;
    ``seed`` decides weights and sequences.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Mirror(arrangement, n_layers, start=start)
    for name, weights in model.stack.named_parameters():
        if "out_proj" in name:
            weights.data *= gain
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * min(1.0, (step + 1) / max(warm_up, 1))
        tokens = torch.randint(N_DIGITS, (32, LENGTH), generator=generator)
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
