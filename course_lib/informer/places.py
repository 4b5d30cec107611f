"""Where in its window a step stands, as something to add, to turn by, or to score with."""

from typing import Any

from torch import Tensor, nn

from course_lib.informer.config import InformerConfig
from course_lib.positions.learned import LearnedPositions
from course_lib.positions.legendre import LegendrePE
from course_lib.positions.relative import RelativeBias
from course_lib.positions.rotary import Rotary
from course_lib.positions.sinusoidal import sinusoidal_positions
from course_lib.positions.tables import ComputedTables


class PositionVectors(nn.Module):
    """A vector for each place in a window, of the kind that the configuration names."""

    def __init__(self, config: InformerConfig, max_len: int) -> None:
        super().__init__()
        kind, D = config.positions, config.d_model
        self.source: _Sinusoids | LegendrePE | LearnedPositions
        if kind == "sinusoidal":
            self.source = _Sinusoids(max_len, D)
        elif kind == "legendre" or kind == "legendre_basis":
            self.source = LegendrePE(
                D,
                max_len,
                mode="paper" if kind == "legendre" else "basis",
                normalise=config.normalise_positions,
            )
        elif kind == "learned":
            self.source = LearnedPositions(max_len, D)
        else:
            raise ValueError(f"positions are {kind!r}, wanted a kind that is a vector for a place")

    def forward(self, length: int) -> Tensor:
        """The vectors of a window, ``(T, D)``."""
        if isinstance(self.source, LegendrePE):
            return self.source.positions(length)
        return self.source.table[:length]


class _Sinusoids(ComputedTables):
    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.shape = (max_len, d_model)
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        return {"table": sinusoidal_positions(*self.shape)}


class LayerPositions(nn.Module):
    """Positions for the self-attention of every layer on one side."""

    def __init__(self, config: InformerConfig, max_len: int, *, causal: bool) -> None:
        super().__init__()
        self.vectors = PositionVectors(config, max_len) if config.vectors_in_layers else None
        self.relative: RelativeBias | None = None
        self.rotary: Rotary | None = None
        if config.positions == "relative":
            self.relative = RelativeBias(
                config.n_heads, bidirectional=not causal, fused=config.fused
            )
        elif config.positions == "rotary":
            self.rotary = Rotary(
                config.d_model // config.n_heads, max_len=max_len, fused=config.fused
            )

    def forward(self, length: int) -> dict[str, Any]:
        """Keyword arguments of :class:`~course_lib.informer.InformerAttention` for T tokens.

        They are ``positions`` ``(T, D)``, ``bias`` ``(1, H, T, T)``, ``rotate``, or none.
        """
        if self.vectors is not None:
            return {"positions": self.vectors(length)}
        if self.relative is not None:
            return {"bias": self.relative(length)[None]}
        if self.rotary is not None:
            return {"rotate": self.rotary}
        return {}
