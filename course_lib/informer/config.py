"""Configuration of an Informer."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from course_lib.attention import check_dropout, check_heads
from course_lib.informer.prob_sparse import SparseRules
from course_lib.layers import Activation
from course_lib.positions.terms import TERMS, check_terms

Attention = Literal["prob", "full"]
TimeEncoding = Literal["features", "fixed", "learned", "none"]
InformerPositions = Literal[
    "sinusoidal", "legendre", "legendre_basis", "learned", "relative", "rotary", "none"
]
PositionsAt = Literal["input", "layers", "both"]
TokenPadding = Literal["circular", "causal"]

# Positions that are vectors, and can be added to something.
VECTORS = ("sinusoidal", "legendre", "legendre_basis", "learned")


@dataclass(frozen=True)
class InformerConfig:
    """Configuration of an :class:`~course_lib.informer.Informer`, and what can be left out.

    Args:
        seq_len, pred_len: Steps that the encoder reads, and steps that are forecast.
        label_len: Known steps with which the decoder begins, the last ones that the encoder reads.
        in_channels, out_channels: Variables that are read, and that are forecast.
        ff_depth: Hidden layers of the feed-forward sub-layers; more than one is a "deep MLP".
        attention: Self-attention of both sides, ``"prob"`` (ProbSparse) or ``"full"``. Attention to
            the encoder is full.
        rules, seed: How ProbSparse attention judges; of the keys that it judges by.
        distil: Whether the sequence is halved between the layers of the encoder.
        mix: Whether the decoder's self-attention reads its heads ``(B, H, T, Dh)`` as tokens
            ``(B, T, D)`` without bringing time to the front, as the published code does on purpose.
            A token then has channels of many times, which is neither causal nor equivariant.
        token_padding: What the convolution that embeds values finds beyond the ends:
            ``"circular"``, as published, where the last step is the neighbour of the first; or
            ``"causal"``, where a token is made of its own step and the two before it.
        time: The calendar: ``"features"``, a linear map of numbers in [-0.5, 0.5] (called timeF in
            the published code); ``"fixed"``, sinusoidal tables for month, day, weekday, hour;
            ``"learned"``, such tables, trained; or ``"none"``.
        minutes: Whether the calendar has minutes, too: five numbers per step, four if not.
        positions: ``"sinusoidal"``; ``"legendre"`` and ``"legendre_basis"``, see
            :func:`~course_lib.positions.legendre.legendre_positions`; ``"learned"``;
            ``"relative"``, a bias per head and distance; ``"rotary"``; or ``"none"``.
        normalise_positions: Whether Legendre positions are all equally strong.
        positions_at: Where positions that are vectors enter: the ``"input"``, the queries and keys
            of self-attention in all ``"layers"``, or ``"both"``. (A bias and a rotation always act
            in the layers.) After distilling, positions count the tokens that are left.
        terms: With positions in the layers, which of the four terms of their scores are added up.
        rescale_terms: Whether fewer terms get a larger scale, see
            :func:`~course_lib.positions.terms.term_scale`.
        delta_value: Whether self-attention averages increments of the values, see
            :mod:`course_lib.positions.delta`.
    """

    seq_len: int = 96
    label_len: int = 48
    pred_len: int = 24
    in_channels: int = 7
    out_channels: int = 7
    d_model: int = 512
    n_heads: int = 8
    n_encoder_layers: int = 2
    n_decoder_layers: int = 1
    d_ff: int = 2048
    ff_depth: int = 1
    dropout: float = 0.05
    activation: Activation = "gelu"
    attention: Attention = "prob"
    rules: SparseRules = field(default_factory=SparseRules)
    distil: bool = True
    mix: bool = False
    token_padding: TokenPadding = "circular"
    time: TimeEncoding = "features"
    minutes: bool = False
    positions: InformerPositions = "sinusoidal"
    normalise_positions: bool = False
    positions_at: PositionsAt = "input"
    terms: tuple[str, ...] = TERMS
    rescale_terms: bool = False
    delta_value: bool = False
    seed: int = 0
    fused: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        kinds = {
            "activation": Activation,
            "attention": Attention,
            "token_padding": TokenPadding,
            "time": TimeEncoding,
            "positions": InformerPositions,
            "positions_at": PositionsAt,
        }
        for name, kind in kinds.items():
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}, wanted one of {get_args(kind)}"
                )
        at_least_one = (
            "seq_len",
            "pred_len",
            "in_channels",
            "out_channels",
            "n_encoder_layers",
            "n_decoder_layers",
            "d_ff",
            "ff_depth",
        )
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted at least 1")
        if not 0 <= self.label_len <= self.seq_len:
            raise ValueError(
                f"label_len is {self.label_len}, wanted 0..{self.seq_len}, the steps that are read"
            )
        check_heads(self.d_model, self.n_heads)
        check_dropout(self.dropout)
        self._check_positions()

    def _check_positions(self) -> None:
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            raise ValueError(
                f"a head has {self.d_model // self.n_heads} channels, wanted an even number to turn"
            )
        terms = check_terms(self.terms)
        inside = self.positions in VECTORS and self.positions_at != "input"
        if terms != frozenset(TERMS) and not inside:
            raise ValueError(
                f"terms are {sorted(terms)} and positions {self.positions!r} at "
                f"{self.positions_at!r}, wanted vectors in the layers"
            )

    @property
    def vectors_at_input(self) -> bool:
        """Tell whether positions are added to the embeddings."""
        return self.positions in VECTORS and self.positions_at in ("input", "both")

    @property
    def vectors_in_layers(self) -> bool:
        """Tell whether positions enter queries and keys."""
        return self.positions in VECTORS and self.positions_at in ("layers", "both")

    @property
    def n_time_features(self) -> int:
        """Count how many numbers describe the time of a step."""
        return 5 if self.minutes else 4
