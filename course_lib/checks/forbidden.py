"""Library calls that an exercise forbids, out of reach while an answer to it runs.

Names are easily gone around: by an alias, a reference saved earlier, ``torch._C``, a module that
calls the same inside. So what is refused lies below them: an operator in torch's dispatcher, which
every route ends at, or the code of a function, which all references to it share. Around the answer
everything works as ever.

:func:`during` refuses with a sentence that says why, but in the answer's own process, where an
answer that walks up the stack could switch it off again. :func:`for_good` can't be switched off: it
comes before the first line of a student's and leaves nothing behind that Python could reach.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NoReturn

import torch

__all__ = ["FORBIDDEN", "Forbidden", "NotAllowed", "during", "for_good", "named"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class NotAllowed(RuntimeError):
    """The answer used what its exercise forbids."""


@dataclass(frozen=True)
class Forbidden:
    """What an exercise may forbid.

    Args:
        says: What may not be used, as the student knows it.
        instead: What to do.
        operators: Torch's operators that are refused: those at which all ways end, on a CPU.
        functions: Full names of the functions written in Python that are refused.
        names: Last parts of the names by which an answer's source shows that it uses them.
        gradients: Whether :func:`for_good` also keeps every operator from being recorded, so that
            no way of calling the engine finds anything to differentiate.
    """

    says: str
    instead: str
    operators: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    gradients: bool = False


FORBIDDEN: Mapping[str, Forbidden] = {
    "attention": Forbidden(
        "`F.scaled_dot_product_attention` and `nn.MultiheadAttention`",
        "write attention with your own matrix products and softmax",
        # Every way to the first ends at one of two, every fast way to the second at the others.
        operators=(
            "_scaled_dot_product_flash_attention_for_cpu",
            "_safe_softmax",
            "_native_multi_head_attention",
            "_transformer_encoder_layer_fwd",
        ),
        functions=(
            "torch.nn.functional.multi_head_attention_forward",
            "torch.nn.modules.activation.MultiheadAttention.forward",
        ),
        names=(
            "scaled_dot_product_attention",
            "MultiheadAttention",
            "multi_head_attention_forward",
            "_native_multi_head_attention",
        ),
    ),
    "autograd": Forbidden(
        "autograd",
        "write the derivative with your own formula",
        functions=(
            # `backward`, `grad`, and all of `torch.autograd.functional` and `torch.func` end here.
            "torch.autograd.graph._engine_run_backward",
            "torch.autograd.forward_ad.make_dual",
        ),
        names=("autograd", "backward", "vjp", "jvp", "jacrev", "jacfwd"),
        gradients=True,
    ),
    "recurrence": Forbidden(
        "`nn.RNN`, `nn.GRU`, `nn.LSTM`, their cells and the functions behind them",
        "write the step with your own matrix products, sigmoids and tanh",
        operators=(
            "rnn_tanh_cell",
            "rnn_tanh.input",
            "rnn_tanh.data",
            "gru_cell",
            "gru.input",
            "gru.data",
            "lstm_cell",
            "lstm.input",
            "lstm.data",
        ),
        names=(
            "RNN",
            "GRU",
            "LSTM",
            "RNNCell",
            "GRUCell",
            "LSTMCell",
            "rnn_tanh",
            "rnn_tanh_cell",
            "gru_cell",
            "lstm_cell",
        ),
    ),  # fmt: skip
    "norm": Forbidden(
        "`F.layer_norm`, `nn.LayerNorm` and the other norms of the library",
        "write the norm with means, squares and a root of your own",
        # A norm over groups, batches or without a mean becomes this one with a line around it.
        operators=(
            "native_layer_norm",
            "native_group_norm",
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit.no_stats",
            "rms_norm",
            "_fused_rms_norm",
        ),
        names=(
            "layer_norm",
            "LayerNorm",
            "native_layer_norm",
            "rms_norm",
            "RMSNorm",
            "group_norm",
            "GroupNorm",
            "batch_norm",
            "BatchNorm1d",
            "BatchNorm2d",
            "instance_norm",
            "InstanceNorm1d",
        ),
    ),  # fmt: skip
    "interpolate": Forbidden(
        "`F.interpolate`, `nn.Upsample` and `F.grid_sample`",
        "write the weights of the neighbours yourself",
        # Nearest neighbours and areas are left alone: they interpolate nothing.
        operators=(
            "upsample_linear1d",
            "upsample_bilinear2d",
            "_upsample_bilinear2d_aa",
            "upsample_bicubic2d",
            "_upsample_bicubic2d_aa",
            "_upsample_lanczos2d_aa",
            "upsample_trilinear3d",
            "grid_sampler_2d",
            "grid_sampler_3d",
        ),
        names=(
            "interpolate",
            "upsample",
            "Upsample",
            "UpsamplingBilinear2d",
            "grid_sample",
            "upsample_bilinear2d",
        ),
    ),
    "patches": Forbidden(
        "`F.unfold`, `F.pixel_unshuffle`, convolutions and their layers",
        "write the cut with reshapes and permutations of your own",
        # `Tensor.unfold` is left alone: it makes windows and leaves their order to you.
        operators=(
            "im2col",
            "pixel_unshuffle",
            "convolution",
            "_convolution",
            "convolution_overrideable",
            "mkldnn_convolution",
            "_slow_conv2d_forward",
            "slow_conv_dilated2d",
            "slow_conv3d_forward",
            "_nnpack_spatial_convolution",
        ),
        names=(
            "Unfold",
            "im2col",
            "pixel_unshuffle",
            "PixelUnshuffle",
            "conv1d",
            "conv2d",
            "conv3d",
            "Conv1d",
            "Conv2d",
            "Conv3d",
        ),
    ),
}


@contextlib.contextmanager
def during(kinds: Sequence[str], exercise: str = "") -> Iterator[None]:
    """Refuse, in this process, while this context lasts.

    Args:
        kinds: Keys of :data:`FORBIDDEN`.
        exercise: Whose answer runs; named to whoever is refused.

    Raises:
        KeyError: There is no such kind.

    Example:
        >>> q = torch.ones(1, 2, 4)
        >>> saved = torch.nn.functional.scaled_dot_product_attention
        >>> with during(["attention"], "a.exercise"):
        ...     saved(q, q, q)
        Traceback (most recent call last):
        ...
        course_lib.checks.forbidden.NotAllowed: ... may not be used in a.exercise: ...
        >>> saved(q, q, q).shape
        torch.Size([1, 2, 4])
    """
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            forbidden = FORBIDDEN[kind]
            message = f"{forbidden.says} may not be used in {exercise or 'this exercise'}:"
            stack.enter_context(_refused(forbidden, f"{message} {forbidden.instead}"))
        yield


def for_good(kinds: Sequence[str]) -> None:
    """Refuse for the rest of this process's life.

    Operators end in a builtin function that takes no such arguments: unlike a Python function it
    has no code that could be exchanged. What registered it is never freed and known to nobody.

    Args:
        kinds: Keys of :data:`FORBIDDEN`.

    Raises:
        KeyError: There is no such kind.
    """
    for kind in kinds:
        forbidden = FORBIDDEN[kind]
        for name in forbidden.functions:
            _function(name).__code__ = _refusal(f"{forbidden.says} may not be used here")
        replaced: dict[str, tuple[str, Any]] = dict.fromkeys(forbidden.operators, ("CPU", len))
        if forbidden.gradients:
            every = (n.split("::") for n in torch._C._dispatch_get_all_op_names())
            fallthrough = torch.library.fallthrough_kernel
            replaced |= {n: ("AutogradCPU", fallthrough) for space, n in every if space == "aten"}
        for key in {key for key, _ in replaced.values()}:
            library = _overriding(key, {n: k for n, (at, k) in replaced.items() if at == key})
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
            del library


def named(kinds: Sequence[str], sources: Sequence[str], function: str) -> list[str]:
    """What an answer names that it may not use, found by reading its source.

    Only the code that can run in the answer counts: the function itself and what else its cells
    define. A comparison below it, a comment or a text is nobody's offence.

    Args:
        kinds: Keys of :data:`FORBIDDEN`.
        sources: The cells of the answer.
        function: The name that was asked for; naming a function of one's own so is none, either.

    Example:
        >>> named(["attention"], ["from torch.nn import functional as T\\n"
        ...     "def answer(q): return T.scaled_dot_product_attention(q, q, q)"], "answer")
        ['scaled_dot_product_attention']
        >>> named(["attention"], ["def answer(q): return q\\n"
        ...     "print(F.scaled_dot_product_attention(q, q, q))"], "answer")
        []
    """
    wanted = {name for kind in kinds for name in FORBIDDEN[kind].names}
    found: dict[str, None] = {}
    trees = []
    for source in sources if wanted else ():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            trees.append(ast.parse(source))
    aliases = {
        alias.asname or alias.name: alias.name.rpartition(".")[2]
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {n.name for tree in trees for n in tree.body if isinstance(n, _DEFINITIONS)} | {function}
    for tree in trees:
        for definition in tree.body:
            if not isinstance(definition, _DEFINITIONS):
                continue
            for node in ast.walk(definition):
                if isinstance(node, ast.Attribute):
                    name = node.attr
                elif isinstance(node, ast.Name) and node.id not in own:
                    name = aliases.get(node.id, "")
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    # As in getattr(F, "..."); a docstring has spaces.
                    name = node.value
                else:
                    continue
                if name in wanted:
                    found[name] = None
    return list(found)


@contextlib.contextmanager
def _refused(forbidden: Forbidden, message: str) -> Iterator[None]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotAllowed(message)

    held = []
    if forbidden.operators:
        held.append(_overriding("CPU", dict.fromkeys(forbidden.operators, refuse)))
    functions = [_function(name) for name in forbidden.functions]
    codes = [function.__code__ for function in functions]
    try:
        for function in functions:
            function.__code__ = _refusal(message)
        yield
    finally:
        for function, code in zip(functions, codes, strict=True):
            function.__code__ = code
        held.clear()


def _overriding(key: str, kernels: Mapping[str, Any]) -> Any:
    """Kernels in the place of torch's own, at one of its dispatch keys, while the result lives."""
    with warnings.catch_warnings():
        # torch says once that a kernel is being replaced, which is what is wanted.
        warnings.simplefilter("ignore")
        library = torch._C._dispatch_library("IMPL", "aten", key, __file__, 0)
        for name, kernel in kernels.items():
            library.impl(name, key, kernel)
    return library


@cache
def _function(name: str) -> FunctionType:
    owner, _, last = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(owner), last)
    except ModuleNotFoundError:
        found = getattr(_function_owner(owner), last)
    assert isinstance(found, FunctionType) and not found.__code__.co_freevars, name
    return found


def _function_owner(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


@cache
def _refusal(message: str) -> CodeType:
    # Runs with the other function's global names, and may have no names of its own around it.
    source = f"""
def refuse(*args, **kwargs):
    from course_lib.checks.forbidden import NotAllowed
    raise NotAllowed({message!r})
"""
    names: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), names)
    code = names["refuse"].__code__
    assert isinstance(code, CodeType)
    return code
