"""The smallest task that asks where tokens stand: at each place, say the token before it.

Attention without positions can only count which tokens occur. So what a model reaches here is due
to the code that its positions have, and what it reaches on longer sequences to how far that code
carries.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention, Rotate
from course_lib.masks import causal_mask

N_TOKENS = 10


class PlacedAttention(nn.Module):
    """Multi-head self-attention ``(B, T, D)`` that is told about positions in its scores.

    ``bias``: makes what is added to the scores of T tokens, ``(H, T, T)``; a module is trained.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: Callable[[int], Tensor] | None = None,
        rotate: Rotate | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.bias = bias
        self.rotate = rotate
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        """Attend: ``(B, T, D)``."""
        T = x.shape[1]
        mask = causal_mask(T, device=x.device) if self.causal else None
        bias = None if self.bias is None else self.bias(T)[None]
        out: Tensor = self.attention(x, mask=mask, bias=bias, rotate=self.rotate)
        return out


class PreviousToken(nn.Module):
    """Embedding plus code, one layer of attention, and a guess for every place.

    ``code``: makes the codes ``(T, D)`` of the first T places; ``attention``: makes the layer.
    """

    def __init__(
        self,
        code: Callable[[int], Tensor] | None = None,
        d_model: int = 32,
        n_heads: int = 4,
        *,
        attention: Callable[[], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.code = code
        self.embedding = nn.Embedding(N_TOKENS, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads) if attention is None else attention()
        self.guess = nn.Linear(d_model, N_TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits ``(B, T, 10)`` of the token before each of ``(B, T)``."""
        x = self.embedding(tokens)
        if self.code is not None:
            x = x + self.code(tokens.shape[1])
        logits: Tensor = self.guess(self.attention(x))
        return logits


def random_tokens(batch: int, length: int, generator: torch.Generator) -> Tensor:
    """Draw sequences of random tokens below 10, ``(batch, length)``."""
    return torch.randint(N_TOKENS, (batch, length), generator=generator)


def train_previous(
    code: Callable[[int], Tensor] | None = None,
    *,
    attention: Callable[[], nn.Module] | None = None,
    length: int = 32,
    steps: int = 400,
    d_model: int = 32,
    seed: int = 0,
) -> tuple[PreviousToken, list[float]]:
    """A model trained on batches of 16 sequences of one length, and its losses in nats per token.

    A ``code`` or ``attention``, see :class:`PreviousToken`, that is a module is trained, too. The
    seed decides the first weights and all sequences.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = PreviousToken(code, d_model, attention=attention)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        tokens = random_tokens(16, length, generator)
        logits = model(tokens)[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@torch.no_grad()
def accuracy_by_place(
    model: Callable[[Tensor], Tensor], length: int, *, n_sequences: int = 64, seed: int = 1
) -> Tensor:
    """Measure how often a model predicts the previous token at the places 1, 2, ...: ``(T - 1,)``.

    Example:
        A model that always says the token that it sees is right where a token comes twice in a row.

        >>> accuracy_by_place(lambda x: torch.nn.functional.one_hot(x, 10), 4, n_sequences=1000)
        tensor([0.0960, 0.1160, 0.0960])
    """
    tokens = random_tokens(n_sequences, length, torch.Generator().manual_seed(seed))
    right = model(tokens)[:, 1:].argmax(dim=-1) == tokens[:, :-1]
    return right.float().mean(dim=0)
