"""A task that takes attention and little else, to see which stacks learn at all: read backwards."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.transformer.depth import Arrangement, arranged_block, arranged_stack

N_DIGITS = 10
LENGTH = 12


class Mirror(nn.Module):
    """Digits and places embedded, a stack, and a guess for each place.

    Args:
        arrangement: What surrounds the parts of its blocks.
        n_layers: Number L of blocks.
        d_model: Width D.
        n_heads: Number of heads.
        length: Number T of places.

    Example:
        >>> Mirror("pre", 2)(torch.zeros(3, LENGTH, dtype=torch.long)).shape
        torch.Size([3, 12, 10])
    """

    def __init__(
        self,
        arrangement: Arrangement,
        n_layers: int,
        d_model: int = 32,
        n_heads: int = 4,
        length: int = LENGTH,
    ) -> None:
        super().__init__()
        self.arrangement = arrangement
        self.digits = nn.Embedding(N_DIGITS, d_model)
        self.places = nn.Parameter(torch.randn(length, d_model))
        self.stack = arranged_stack(arrangement, n_layers, d_model, n_heads)
        self.guess = nn.Linear(d_model, N_DIGITS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Guess the digit at the mirrored place.

        Args:
            tokens: Digits ``(B, T)``.

        Returns:
            Logits ``(B, T, 10)``.
        """
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
    steps: int = 150,
    seed: int = 0,
) -> list[float]:
    """Train on sequences of random digits with Adam.

    Args:
        arrangement: What surrounds the parts of the blocks.
        n_layers: Number L of blocks.
        lr: Learning rate.
        warm_up: Number of steps over which the learning rate rises to it, linearly.
        steps: Number of batches, of 32 sequences each.
        seed: Decides weights and sequences.

    Returns:
        The loss at each step, in nats a digit; who guesses has ``ln 10 = 2.30``.

    Example:
        >>> losses = train_mirror("pre", 1, steps=3)
        >>> len(losses)
        3
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Mirror(arrangement, n_layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / warm_up) if warm_up else lr
        tokens = torch.randint(N_DIGITS, (32, LENGTH), generator=generator)
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
