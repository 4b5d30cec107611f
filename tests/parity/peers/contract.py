"""What the course says of every mechanism, in one form that tests and benchmarks share."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn


class Lambda(nn.Module):
    """A function as a module without weights, a lambda layer."""

    def __init__(self, function: Callable[..., Any], **fixed: Any) -> None:
        super().__init__()
        self.function = function
        self.fixed = fixed

    def forward(self, *inputs: Any) -> Any:
        """Call it."""
        return self.function(*inputs, **self.fixed)


def configured(kind: Callable[..., nn.Module], config: type, **fixed: Any) -> Callable[..., Any]:
    """Make the builder of a model whose configuration has fields named like a mechanism's sizes."""

    def build(*, fast: bool, **sizes: int) -> nn.Module:
        sizes |= {"max_len": sizes.get("length", 0) + sizes.get("n_new", 0)}
        sizes |= {"vocab_size": sizes.get("n_words", 0)}
        values = {f.name: sizes[f.name] for f in fields(config) if f.name in sizes}
        return kind(config(**values, **fixed), fused=fast)

    return build


def built(kind: Callable[..., nn.Module], *names: str, **fixed: Any) -> Callable[..., nn.Module]:
    """Make the builder of a layer whose arguments are a mechanism's sizes."""

    def build(*, fast: bool, **sizes: int) -> nn.Module:
        placed = (_size(name, sizes) for name in names if "=" not in name)
        return kind(*placed, **_named(names, sizes), **fixed, fused=fast)

    return build


def called(
    fused: Callable[..., Tensor],
    explicit: Callable[..., tuple[Tensor, Tensor]],
    *names: str,
    **fixed: Any,
) -> Callable[..., Lambda]:
    """Make the builder of a function of queries, keys and values."""

    def build(*, fast: bool, **sizes: int) -> Lambda:
        function = fused if fast else lambda *qkv, **options: explicit(*qkv, **options)[0]
        return Lambda(function, **_named(names, sizes), **fixed)

    return build


def drawn(*shapes: str) -> Callable[..., tuple[Tensor, ...]]:
    """Make what draws the arguments of a call: tensors of normal numbers."""

    def draw(generator: torch.Generator, **sizes: int) -> tuple[Tensor, ...]:
        each = ([_size(name, sizes) for name in shape.split()] for shape in shapes)
        return tuple(torch.randn(shape, generator=generator) for shape in each)

    return draw


def _size(said: str, sizes: dict[str, int]) -> int:
    return math.prod(sizes[part] if part in sizes else int(part) for part in said.split("*"))


def _named(names: tuple[str, ...], sizes: dict[str, int]) -> dict[str, int]:
    pairs = (name.split("=") for name in names if "=" in name)
    return {keyword: _size(said, sizes) for keyword, said in pairs}


TOKENS = drawn("batch length d_model")
WITH_MEMORY = drawn("batch length d_model", "batch memory d_model")
HEADS = drawn(*["batch n_heads length d_head"] * 3)
IMAGES = drawn("batch 3 image_size image_size")


@dataclass(frozen=True)
class Reference:
    """Another way to compute the same: a peer from another library, or an independent oracle."""

    call: Callable[..., Any]
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism: how to make it and to feed it, what to hold it against, where to measure it.

    Args:
        name: Lower-case words.
        source: Paper and equation or section.
        build: ``build(fast=..., **sizes)`` makes a module in evaluation mode; with ``fast=False``
            the same mechanism on its explicit path, with the same names of weights. Weights come
            from torch's global generator, which the caller seeds.
        inputs: ``inputs(generator, **sizes)`` draws the arguments of one call.
        tiny: Sizes for tests, which take milliseconds.
        small: Sizes at which it is timed: fixed, as the peer was, before anything was tuned.
        large: Larger ones.
        peer: ``peer(module, inputs)`` makes the peer with the module's weights. ``None`` where no
            library computes the same.
        peer_name: Its full name.
        oracle: ``oracle(module, inputs)`` makes a second, independent route of our own; wanted
            where there is no peer.
        fast: Whether there is a fast path beside the explicit one.
        peer_double: Whether the peer runs in float64, where a test of parity is sharper.
        tolerance: Largest difference allowed in float32, in units of the largest output.
        half: Whether it runs in half precision and bfloat16.
        trains: Whether gradients flow from the output to weights or inputs.
        compiles: Whether ``torch.compile`` can trace it in one graph.
        note: Why one of the switches is off; wanted when it is.
        home: The module of one that neither peer nor oracle tells.

    Raises:
        ValueError: If nothing holds the mechanism, or a switch is off without a reason.
    """

    name: str
    source: str
    build: Callable[..., nn.Module]
    inputs: Callable[..., tuple[Any, ...]]
    tiny: dict[str, int]
    small: dict[str, int] = field(default_factory=dict)
    large: dict[str, int] = field(default_factory=dict)
    peer: Callable[[Any, tuple[Any, ...]], Reference] | None = None
    peer_name: str = ""
    oracle: Callable[[Any, tuple[Any, ...]], Reference] | None = None
    fast: bool = True
    peer_double: bool = True
    tolerance: float = 1e-5
    half: bool = True
    trains: bool = True
    compiles: bool = True
    note: str = field(default="")
    home: str = ""

    def __post_init__(self) -> None:
        if self.peer is None and self.oracle is None and not self.fast:
            raise ValueError(f"{self.name} has no peer, no oracle and no second path")
        if not (self.half and self.trains and self.compiles and self.peer_double) and not self.note:
            raise ValueError(f"{self.name} switches a test off without a note that says why")
        if bool(self.peer) != bool(self.peer_name):
            raise ValueError(f"{self.name} has a peer without a name, or a name without a peer")

    @property
    def module(self) -> str:
        """The module that says what it is held to; what builds and feeds it may be shared."""
        own = (self.peer, self.oracle, self.inputs)
        return self.home or next(part.__module__ for part in own if part)

    @property
    def package(self) -> str:
        """Package and version of the peer, as ``name==version``; of numpy the name alone."""
        name = self.peer_name.partition(".")[0].replace("_", "-")
        return f"{name}=={version(name).partition('+')[0]}" if name not in ("", "numpy") else name

    def row(self) -> dict[str, Any]:
        """What a record of its speed says of it."""
        said = {"name": self.name, "peer": self.peer_name, "package": self.package}
        return said | {"small": self.small, "large": self.large}

    def make(
        self,
        sizes: dict[str, int],
        *,
        fast: bool,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> tuple[nn.Module, tuple[Any, ...]]:
        """Make the module and the arguments of one call."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self.build(fast=fast, **sizes).eval().to(device, dtype)
        generator = torch.Generator().manual_seed(seed + 1)
        inputs = self.inputs(generator, **sizes)
        return module, tuple(_cast(x, dtype, device) for x in inputs)


def _cast(x: Any, dtype: torch.dtype, device: str) -> Any:
    if not isinstance(x, Tensor):
        return x
    return x.to(device, dtype) if x.is_floating_point() else x.to(device)


def floats(outputs: Any) -> list[Tensor]:
    """The floating-point tensors in what a module returned, in order."""
    if isinstance(outputs, Tensor):
        return [outputs] if outputs.is_floating_point() else []
    if isinstance(outputs, dict):
        outputs = outputs.values()
    elif not isinstance(outputs, (tuple, list)):
        return []
    return [tensor for part in outputs for tensor in floats(part)]
