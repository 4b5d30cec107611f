"""The whole model: read a window, and forecast the next steps in one pass."""

import torch
from torch import Tensor, nn

from course_lib.informer.config import InformerConfig
from course_lib.informer.embedding import InformerEmbedding
from course_lib.informer.layers import Distilling, InformerDecoderLayer, InformerEncoderLayer
from course_lib.informer.places import LayerPositions


class Informer(nn.Module):
    """Forecasts many steps of many variables at once.

    The encoder halves the sequence after each layer but the last. The decoder gets the last known
    steps and zeros in the place of those to come, of which it knows the time alone; it fills in all
    of them in one pass instead of one after the other.

    Source: Zhou et al., Informer: Beyond Efficient Transformer for Long Sequence Time-Series
    Forecasting (2021), section 3.

    Example:
        >>> model = Informer(InformerConfig(d_model=16, n_heads=2, d_ff=32)).eval()
        >>> model(torch.randn(2, 96, 7), torch.zeros(2, 96, 4), torch.zeros(2, 24, 4)).shape
        torch.Size([2, 24, 7])
    """

    def __init__(self, config: InformerConfig) -> None:
        super().__init__()
        self.config = config
        target_len = config.label_len + config.pred_len
        self.encoder_embedding = InformerEmbedding(config, config.seq_len)
        self.encoder_positions = LayerPositions(config, config.seq_len, causal=False)
        self.encoder_layers = nn.ModuleList(
            InformerEncoderLayer(config, seed=_seed(config, layer))
            for layer in range(config.n_encoder_layers)
        )
        n_halvings = config.n_encoder_layers - 1 if config.distil else 0
        self.distilling = nn.ModuleList(Distilling(config.d_model) for _ in range(n_halvings))
        self.encoder_norm = nn.LayerNorm(config.d_model)
        self.decoder_embedding = InformerEmbedding(config, target_len)
        self.decoder_positions = LayerPositions(config, target_len, causal=True)
        self.decoder_layers = nn.ModuleList(
            InformerDecoderLayer(config, seed=_seed(config, config.n_encoder_layers + layer))
            for layer in range(config.n_decoder_layers)
        )
        self.decoder_norm = nn.LayerNorm(config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.out_channels)

    def encode(self, x: Tensor, x_time: Tensor | None = None) -> Tensor:
        """Read ``(B, seq_len, C)`` as memory ``(B, S, D)``, S after the halvings."""
        if x.ndim != 3 or x.shape[1] != self.config.seq_len:
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B, {self.config.seq_len}, "
                f"{self.config.in_channels})"
            )
        tokens = self.encoder_embedding(x, x_time)
        for number, layer in enumerate(self.encoder_layers):
            tokens = layer(tokens, **self.encoder_positions(tokens.shape[1]))
            if number < len(self.distilling):
                tokens = self.distilling[number](tokens)
        return self.encoder_norm(tokens)

    def decode(self, start: Tensor, time: Tensor | None, memory: Tensor) -> Tensor:
        """Fill in what follows: known values and zeros ``(B, T, C)`` become ``(B, T, C_out)``."""
        tokens = self.decoder_embedding(start, time)
        places = self.decoder_positions(tokens.shape[1])
        for layer in self.decoder_layers:
            tokens = layer(tokens, memory, **places)
        return self.out_proj(self.decoder_norm(tokens))

    def forward(
        self, x: Tensor, x_time: Tensor | None = None, y_time: Tensor | None = None
    ) -> Tensor:
        """Forecast ``(B, pred_len, C_out)`` from values ``(B, seq_len, C)``.

        Args:
            x_time: Times of the values ``(B, seq_len, F)``, see
                :func:`course_lib.data.ett.time_features` and
                :func:`~course_lib.informer.calendar_fields`; none if the model wants none.
            y_time: Times of the steps to come, ``(B, pred_len, F)``.
        """
        memory = self.encode(x, x_time)
        known = x[:, self.config.seq_len - self.config.label_len :]
        start = torch.cat([known, x.new_zeros(x.shape[0], self.config.pred_len, x.shape[2])], dim=1)
        time = None
        if x_time is not None and y_time is not None:
            time = torch.cat([x_time[:, self.config.seq_len - self.config.label_len :], y_time], 1)
        return self.decode(start, time, memory)[:, self.config.label_len :]


def _seed(config: InformerConfig, layer: int) -> int:
    """A seed of its own for each layer."""
    return config.seed * 1009 + layer


def informer() -> Informer:
    """The Informer for ETTh1 with 7 variables and 24 steps ahead: 11,330,055 parameters.

    Sizes are the defaults of the published training script; ProbSparse attention is the paper's,
    see :class:`~course_lib.informer.SparseRules`.
    """
    return Informer(InformerConfig())
