"""One optimiser step over tensors that stay where they are, so that a CUDA graph can hold it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from course_lib.training import loop

LOOK = 50  # steps after which a GPU is asked for its numbers


class NotGraphed(Exception):
    """Why steps can't be a graph."""


class Step:
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
            weighed = list(loop._shares(pieces, weigh))
            pieces = [piece for piece, _ in weighed]
            for place, (_, share) in zip(self.shares, weighed, strict=False):
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
        loop.wake(self.model)
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
