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
from torch.utils._pytree import tree_flatten

from course_lib.training import loop

P = ParamSpec("P")
R = TypeVar("R")
WARM = 3  # steps taken plainly, undone, and compared to those of the graph
LOOK = 50  # steps after which a GPU is asked for its numbers


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


class NotGraphed(Exception):
    """Why steps can't be a graph."""


class Epochs:
    """Epochs of steps over tensors that stay where they are, in place of ``train_epoch``.

    Args:
        replay: Whether a step is a graph; if not, the same is called each time, on a CPU, too.
    """

    def __init__(self, replay: bool = True) -> None:
        self.replay = replay
        self.reason = ""
        self.step: _Step | None = None

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
        model.train()
        try:
            self.step = _Step(model, optimizer, loss, groups[0], clip_norm, autocast)
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


class _Step:
    """One optimiser step; its inputs, rates and results are tensors that stay where they are."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Callable[[nn.Module, Any], Tensor],
        pieces: list[Any],
        clip_norm: float | None,
        autocast: torch.dtype | None,
    ) -> None:
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.max_norm = float("inf") if clip_norm is None else clip_norm
        self.autocast = autocast
        self.device = next(model.parameters()).device
        self.graph: torch.cuda.CUDAGraph | None = None
        if type(optimizer) not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
            raise NotGraphed(f"the optimiser is {type(optimizer).__name__}")
        if any(group.get("dampening") for group in optimizer.param_groups):
            raise NotGraphed("the optimiser's first step is another one, as it has dampening")
        leaves, self.spec = tree_flatten(pieces)
        for leaf in leaves:
            if not isinstance(leaf, Tensor) or leaf.device != self.device:
                what = f"is on {leaf.device}" if isinstance(leaf, Tensor) else "is no tensor"
                raise NotGraphed(f"a part of a batch {what}, wanted tensors on {self.device}")
        self.inputs = [leaf.detach().clone() for leaf in leaves]
        self.shares = torch.ones(len(pieces), dtype=torch.float64, device=self.device)
        self.said = torch.zeros(2, dtype=torch.float64, device=self.device)
        # The GPU's kernels want single precision, those of a CPU take what they get.
        exact = torch.float32 if self.device.type == "cuda" else torch.float64
        self.rates = [
            torch.tensor(float(group["lr"]), dtype=exact, device=self.device)
            for group in optimizer.param_groups
        ]
        self.now = [float(group["lr"]) for group in optimizer.param_groups]
        self.places = self._places(model)
        # The next batch is made on a stream of its own, or what it copies would wait for the step.
        self.side = torch.cuda.Stream() if self.device.type == "cuda" else None
        self.host_steps = not any(
            group.get("capturable") or group.get("fused") for group in optimizer.param_groups
        )

    @staticmethod
    def _places(model: nn.Module) -> list[int]:
        return [tensor.data_ptr() for tensor in chain(model.parameters(), model.buffers())]

    def fits(self, model: nn.Module) -> bool:
        """Whether the model's tensors are where they were."""
        return model is self.model and self.places == self._places(model)

    def takes(self, pieces: list[Any]) -> bool:
        """Whether batches are of the shapes that the places of the inputs have."""
        leaves, spec = tree_flatten(pieces)
        return bool(spec == self.spec) and all(
            isinstance(leaf, Tensor)
            and (leaf.shape, leaf.dtype, leaf.device) == (own.shape, own.dtype, own.device)
            for leaf, own in zip(leaves, self.inputs, strict=True)
        )

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Let the optimiser read its rates from tensors; afterwards it looks as before."""
        groups = self.optimizer.param_groups
        names = ("lr", "fused", "foreach", "capturable")
        kept = [{name: group[name] for name in names if name in group} for group in groups]
        for group, rate in zip(groups, self.rates, strict=True):
            group |= {"lr": rate, "fused": True, "foreach": False}
            if "capturable" in group:
                group["capturable"] = True
        for parameter, state in self.optimizer.state.items():
            for name, value in state.items():
                if name == "step":
                    state[name] = torch.as_tensor(value, dtype=torch.float32, device=self.device)
                elif isinstance(value, Tensor) and value.stride() != parameter.stride():
                    state[name] = torch.empty_like(parameter).copy_(value)
        try:
            yield
        finally:
            for group, own, now in zip(groups, kept, self.now, strict=True):
                group |= own | {"lr": now}

    def release(self) -> None:
        """Count the optimiser's steps where it counted them before."""
        for state in self.optimizer.state.values():
            if "step" in state and self.host_steps:
                state["step"] = torch.as_tensor(state["step"]).cpu()

    def _run(self, pieces: list[Any]) -> None:
        self.optimizer.zero_grad()
        values = []
        for piece, share in zip(pieces, self.shares, strict=False):
            with torch.autocast(
                self.device.type, self.autocast, enabled=self.autocast is not None,
                cache_enabled=False,
            ):  # fmt: skip
                part = self.loss(self.model, piece)
                part = part * share.to(part.dtype)
            part.backward()
            values.append(part.detach())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.said.copy_(torch.stack([torch.stack(values).sum().double(), norm.double()]))

    def _take(self, pieces: list[Any], weigh: Callable[[Any], float] | None) -> None:
        """Queue one step."""
        if weigh is not None or len(pieces) > 1:
            shares = [share for _, share in loop._shares(pieces, weigh)]
            for place, share in zip(self.shares, shares, strict=False):
                place.fill_(share)
        elif len(self.shares) > 1:
            self.shares.fill_(1.0)
        if not self.takes(pieces):
            return self._run(pieces)
        for place, leaf in zip(self.inputs, tree_flatten(pieces)[0], strict=True):
            place.copy_(leaf)
        if self.graph is not None:
            return self.graph.replay()
        return self._run(self.spec.unflatten(self.inputs))

    def epoch(
        self,
        groups: Iterator[list[Any]],
        *,
        first_step: int = 0,
        schedule: Callable[[int], float] | None = None,
        weigh: Callable[[Any], float] | None = None,
        **_: Any,
    ) -> tuple[dict[str, float], int]:
        """All steps of an epoch; what it returns and raises as of ``train_epoch``."""
        self.model.train()
        side = self.side
        if side is not None:
            side.wait_stream(torch.cuda.current_stream())
        trace = torch.zeros(LOOK, 2, dtype=torch.float64, device=self.device)
        sums = torch.zeros(2, dtype=torch.float64)
        step = seen = first_step

        def look() -> None:
            nonlocal seen, sums
            numbers = trace[: step - seen].cpu()
            pairs = enumerate(numbers.unbind(), seen)
            loop._stop_unless_finite([(i, pair[0], pair[1]) for i, pair in pairs])
            sums, seen = sums + numbers.sum(dim=0), step

        with torch.cuda.stream(side):
            pieces = next(groups, None)
        while pieces is not None:
            self._set_rates(step, schedule)
            if side is not None:
                torch.cuda.current_stream().wait_stream(side)
                for leaf in tree_flatten(pieces)[0]:
                    if isinstance(leaf, Tensor) and leaf.is_cuda:
                        leaf.record_stream(torch.cuda.current_stream())
            self._take(pieces, weigh)
            trace[step - seen].copy_(self.said)
            step += 1
            if step - seen == LOOK:
                look()
            with torch.cuda.stream(side):
                pieces = next(groups, None)
        look()
        mean_loss, mean_norm = (sums / (step - first_step)).tolist()
        return {"loss": mean_loss, "lr": self.now[0], "grad_norm": mean_norm}, step

    def _set_rates(self, step: int, schedule: Callable[[int], float] | None) -> None:
        if schedule is None:
            return
        factor = schedule(step)
        groups = self.optimizer.param_groups
        self.now = [group["initial_lr"] * factor for group in groups]
        for rate, now in zip(self.rates, self.now, strict=True):
            rate.fill_(now)

    def capture(
        self,
        groups: list[list[Any]],
        *,
        first_step: int = 0,
        schedule: Callable[[int], float] | None = None,
        weigh: Callable[[Any], float] | None = None,
        **_: Any,
    ) -> None:
        """Make the graph; weights, moments and generators are as before afterwards.

        Raises:
            NotGraphed: If replayed steps are others than plain ones.
            RuntimeError: If a step can't be captured, as it asks for a number.
        """
        drawn, chance = torch.cuda.get_rng_state(), torch.random.get_rng_state()
        restore = self._snapshot()
        self._set_rates(first_step, schedule)

        def undo() -> None:
            restore()
            torch.cuda.set_rng_state(drawn)
            torch.random.set_rng_state(chance)

        try:
            found = self._warm_up(groups, weigh, undo)
            again = []
            for group in groups:
                self._take(group, weigh)
                again.append(self.said.clone())
        finally:
            torch.cuda.synchronize()
            undo()
        if not torch.allclose(torch.stack(found), torch.stack(again), rtol=1e-3, equal_nan=True):
            raise NotGraphed(f"replayed steps gave {again}, plain ones {found}")

    def _warm_up(
        self,
        groups: list[list[Any]],
        weigh: Callable[[Any], float] | None,
        undo: Callable[[], None],
    ) -> list[Tensor]:
        """Make the graph; what some plain steps gave before."""
        stream, found = torch.cuda.Stream(), []
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for i, group in enumerate(groups):
                # Asking for a number would break the capture, and more with it.
                last = i == len(groups) - 1 > 0
                torch.cuda.set_sync_debug_mode("error" if last else "default")
                try:
                    self._take(group, weigh)
                finally:
                    torch.cuda.set_sync_debug_mode("default")
                found.append(self.said.clone())
        torch.cuda.synchronize()
        undo()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            self._run(self.spec.unflatten(self.inputs))
        self.graph = graph
        torch.cuda.synchronize()
        return found

    def _snapshot(self) -> Callable[[], None]:
        """What puts weights and moments back in their places."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        values = [tensor.detach().clone() for tensor in tensors]
        moments = {
            (parameter, name): value.clone()
            for parameter, state in self.optimizer.state.items()
            for name, value in state.items()
            if isinstance(value, Tensor)
        }

        @torch.no_grad()
        def restore() -> None:
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
            for parameter, state in self.optimizer.state.items():
                for name, value in state.items():
                    if isinstance(value, Tensor):
                        # What a first step finds are zeros.
                        value.copy_(moments.get((parameter, name), torch.zeros_like(value)))

        return restore


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
