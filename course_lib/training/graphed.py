"""Training on a GPU, where a whole step is one CUDA graph; on a CPU it is the plain loop.

Small networks leave a GPU waiting for Python, which starts some hundred kernels a step. A graph
holds them all, over tensors that stay where they are: a batch is copied into its place, the step
replayed. The numbers are those of the plain steps.
"""

import functools
import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from itertools import chain, islice
from types import FunctionType
from typing import Any, Literal, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

from course_lib.training import loop
from course_lib.training.graph_step import Step

P = ParamSpec("P")
R = TypeVar("R")
WARM = 3  # steps taken plainly, undone, and compared to those of the graph


@dataclass(frozen=True)
class Manner:
    """How a GPU computes, where its experiment says nothing about it.

    Args:
        products: ``"float32"``, ``"tf32"``, or ``"bfloat16"`` for mixed precision, in training and
            in what is measured between epochs; what is measured at the end is not concerned.
            But for ``"float32"``, channels of convolutions lie side by side in memory.
        compiled: Whether blocks are compiled; channels lie as above.
    """

    products: Literal["float32", "tf32", "bfloat16"] = "float32"
    compiled: bool = False


_PLAIN = Manner()
_manner: ContextVar[Manner] = ContextVar("manner", default=_PLAIN)


def use(manner: Manner) -> None:
    """Let a GPU compute in this manner from now on."""
    _manner.set(manner)


def manner() -> Manner:
    """How a GPU computes now."""
    return _manner.get()


def told(device: torch.device) -> dict[str, Any]:
    """What a record says about it: nothing of a CPU, on which it changes nothing.

    Example:
        >>> told(torch.device("cuda"))
        {'products': 'float32', 'compiled': False}
    """
    return asdict(manner()) if device.type == "cuda" else {}


class Epochs:
    """Epochs of steps over tensors that stay where they are, in place of ``train_epoch``.

    Args:
        replay: Whether a step is a graph; if not, the same is called each time, on a CPU, too.
    """

    def __init__(self, replay: bool = True) -> None:
        self.replay = replay
        self.reason = ""
        self.step: Step | None = None

    def __call__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        batches: Iterable[Any],
        loss: Callable[[nn.Module, Any], Tensor],
        *,
        accumulate: int = 1,
        **settings: Any,
    ) -> tuple[dict[str, float], int]:
        """As :func:`course_lib.training.train_epoch`."""
        if self.replay and settings.get("autocast") is None and manner().products == "bfloat16":
            settings["autocast"] = torch.bfloat16
        if not self.reason and accumulate > 0 and settings.get("autocast") != torch.float16:
            rest = iter(batches)
            first = list(islice(rest, WARM * accumulate))
            batches = chain(first, rest)
            groups = list(loop._together(first, accumulate))
            if groups and (self.step is None or not self.step.fits(model)):
                self._begin(model, optimizer, groups, loss, **settings)
        if self.step is None or self.reason:
            return loop.train_epoch(
                model, optimizer, batches, loss, accumulate=accumulate, **settings
            )
        with self.step.settled():
            return self.step.epoch(loop._together(batches, accumulate), **settings)

    def _begin(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        groups: Sequence[list[Any]],
        loss: Callable[[nn.Module, Any], Tensor],
        *,
        clip_norm: float | None = 1.0,
        autocast: torch.dtype | None = None,
        **settings: Any,
    ) -> None:
        loop.wake(model)
        try:
            self.step = Step(model, optimizer, loss, groups[0], clip_norm, autocast)
            if self.replay:
                alike = [group for group in groups if self.step.takes(group)]
                with self.step.settled():
                    self.step.capture(alike, **settings)
        except Exception as error:
            self.reason = str(error).split("\n")[0] or type(error).__name__
            warnings.warn(
                f"training goes step by step, not as a CUDA graph: {self.reason}",
                RuntimeWarning,
                stacklevel=2,
            )
            if self.step is not None:
                self.step.release()
                self.step = None

    def end(self) -> None:
        """Leave the optimiser as it was found."""
        if self.step is not None:
            self.step.release()


def _through(epochs: Epochs) -> Callable[..., list[dict[str, float]]]:
    """The loop's ``fit`` with other epochs; its text stays what digests in records are of."""
    made = FunctionType(loop.fit.__code__, {**vars(loop), "train_epoch": epochs})
    made.__kwdefaults__ = loop.fit.__kwdefaults__
    return made


def _repeated(model: nn.Module) -> Iterator[nn.Module]:
    """The outermost parts of a network of whose kind it has several, such as its blocks."""
    kinds = [type(part) for part in model.modules()]
    for part in model.children():
        ours = type(part).__module__.startswith("course_lib.")
        if ours and kinds.count(type(part)) > 1:
            yield part
        else:
            yield from _repeated(part)


@contextmanager
def _tuned(model: nn.Module) -> Iterator[None]:
    """Settings of the GPU while it trains."""
    precision, benchmark = torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
    cudnn_attention = torch.backends.cuda.cudnn_sdp_enabled()
    blocks = list(_repeated(model)) if manner().compiled else []
    fast = manner() != _PLAIN
    if fast:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if blocks:
        # One block of code for many shapes, each of which is compiled apart.
        dynamo = importlib.import_module("torch._dynamo")
        dynamo.config.recompile_limit = 64
    for block in blocks:
        block.compile(dynamic=False)
    if manner().products == "tf32":
        torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    # It makes plans as it goes, which a graph can't.
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = benchmark
        torch.set_float32_matmul_precision(precision)
        torch.backends.cuda.enable_cudnn_sdp(cudnn_attention)
        for block in blocks:
            block._compiled_call_impl = None
        if fast:
            model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]


def _measuring(
    evaluate: Callable[[nn.Module], Mapping[str, float]],
) -> Callable[[nn.Module], Mapping[str, float]]:
    mixed, compiled = manner().products == "bfloat16", manner().compiled

    def measured(model: nn.Module) -> Mapping[str, float]:
        plainly = torch.compiler.set_stance("force_eager") if compiled else nullcontext()
        with torch.autocast("cuda", torch.bfloat16, enabled=mixed), plainly:
            return evaluate(model)

    return measured


def _on_a_gpu(plain: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(plain)
    def fit(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0] if args else kwargs["model"]
        if next(model.parameters()).device.type != "cuda":
            return plain(*args, **kwargs)
        epochs = Epochs()
        if kwargs.get("recompute"):
            epochs.reason = "blocks are computed again"
        evaluate: Any = kwargs.get("evaluate")
        more = {**kwargs, "evaluate": None if evaluate is None else _measuring(evaluate)}
        with _tuned(model):
            try:
                made: Any = _through(epochs)(*args, **more)
            finally:
                epochs.end()
        return made

    return fit


fit = _on_a_gpu(loop.fit)
"""Train a model and report each epoch: on a CPU :func:`course_lib.training.loop.fit` itself."""
