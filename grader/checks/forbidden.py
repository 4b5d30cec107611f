"""Library calls that an exercise forbids, out of reach while an answer to it runs.

Names are easily gone around: by an alias, a reference saved earlier, ``torch._C``, a module that
calls the same inside. So what is refused lies below them: an operator in torch's dispatcher, which
every route ends at, or the code of a function, which all references to it share. Around the answer
everything works as ever.

:func:`during` refuses with a sentence that says why, but in the answer's own process, where an
answer that walks up the stack could switch it off again. :func:`for_good` can't be switched off: it
comes before the first line of a student's and leaves nothing behind that Python could reach.
"""

import contextlib
import ctypes
import gc
import inspect
import linecache
import os
import re
import statistics
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.abc import MetaPathFinder
from itertools import product
from pathlib import Path
from threading import get_ident
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, NoReturn

import numpy.ma
import numpy.polynomial

from grader.base.tensors import torch
from grader.checks.import_stubs import NEEDED


class NotAllowed(RuntimeError):
    """The answer used what its exercise forbids."""


@dataclass(frozen=True)
class Forbidden:
    """Features that an exercise may forbid."""

    says: str  # what may not be used, as the student knows it
    instead: str  # what to do
    operators: str = "$^"  # names of torch's, refused on a CPU, where all ways to them end
    functions: str = "$^"  # names of those that torch, numpy and statistics have in Python
    shortcuts: str = "$^"  # names of operators about which a person is asked, as of no others
    # whether :func:`for_good` also keeps every operator from being recorded
    gradients: bool = False


FORBIDDEN: Mapping[str, Forbidden] = {
    "attention": Forbidden(
        "`F.scaled_dot_product_attention` and `nn.MultiheadAttention`",
        "write attention with your own matrix products and softmax",
        # Every way to either ends here, the slow one to the second at its function.
        operators="_safe_softmax|.*attention|_transformer_encoder_layer",
        functions=r"multi_head_attention_forward|MultiheadAttention\.forward|"
        r"MixtureSameFamily\.(mean|variance)",
    ),
    "autograd": Forbidden(
        "autograd",
        "write the derivative with your own formula",
        # The formulas that the engine uses, ready to be called; `for_good` takes all of them.
        operators=r"(_softmax|_log_softmax|tanh|sigmoid|log_sigmoid|gelu|silu|elu|mish|softplus|"
        r"threshold|leaky_relu|logit|\w+_loss|binary_cross_entropy|matmul|linear)_backward",
        # `backward`, `grad`, and all of `torch.autograd.functional` and `torch.func` end here; a
        # transform of random variables knows the logarithm of its slope, a polynomial its own.
        functions=r"_engine_run_backward|make_dual|\w+\.log_abs_det_jacobian|"
        r"(poly|cheb|leg|herme?|lag)der",
        gradients=True,
    ),
    "recurrence": Forbidden(
        "`nn.RNN`, `nn.GRU`, `nn.LSTM`, their cells and the functions behind them",
        "write the step with your own matrix products, sigmoids and tanh",
        operators=r"\w*(rnn|gru|lstm)",
    ),
    "norm": Forbidden(
        "`F.layer_norm`, `nn.LayerNorm` and the other norms of the library",
        "write the norm with means, squares and a root of your own",
        # A norm over groups, batches or without a mean becomes this one with a line around it;
        # what is left, `norm` and those of `linalg`, is a length, a root of squares.
        operators=r"(?!linalg|norm|frobenius|nuclear|_foreach)\w*norm(?!al)|cosine_|corrcoef",
        functions=r"normalize|local_response_norm|CrossMapLRN2d\.forward|_?clip_grads?_\w*norm_?|"
        r"corrcoef|correlation|NormalDist\.zscore|fuse_\w*bn\w*",
    ),
    "interpolate": Forbidden(
        "`F.interpolate`, `nn.Upsample` and `F.grid_sample`",
        "write the weights of the neighbours yourself",
        # Nearest neighbours and areas are left alone: they interpolate nothing.
        operators=r"_?upsample_(?!nearest)|\w*grid_sampler|(nan)?quantile",
        # A triangular window holds the weights.
        functions=r"interp|(NormalDist\.|nan)?(quantiles?|percentile)|bartlett|linear_regression",
        shortcuts=r"\w*conv(?!ert)",
    ),
    "patches": Forbidden(
        "`F.unfold`, `F.pixel_unshuffle`, convolutions and their layers",
        "write the cut with reshapes and permutations of your own",
        # `Tensor.unfold` is left alone: it makes windows and leaves their order to you.
        operators=r"im2col|col2im|pixel_(un)?shuffle|\w*conv(?!ert)",
        functions="correlate2?|convolve|sliding_window_view",
        # The place of a maximum says which patch it is in, the nearest pixel of a map, which it is.
        shortcuts=r"\w*pool|_?upsample_|\w*grid_sampler",
    ),
}


@contextlib.contextmanager
def during(kinds: Sequence[str], exercise: str = "", gone: Collection[str] = ()) -> Iterator[None]:
    """Refuse in this process while this lasts, saved references too; ``gone`` kinds are skipped."""
    with contextlib.ExitStack() as stack:
        for kind in (kind for kind in kinds if kind not in gone):
            forbidden = FORBIDDEN[kind]
            message = f"{forbidden.says} may not be used in {exercise or 'this exercise'}:"
            stack.enter_context(_refused(forbidden, f"{message} {forbidden.instead}"))
        if kinds:
            stack.enter_context(alone())
        yield


def for_good(kinds: Sequence[str], *unneeded: str) -> None:
    """Refuse for the rest of this process's life.

    Operators end in a builtin function that takes no such arguments: unlike a Python function it
    has no code that could be exchanged. What registered it is never freed and known to nobody.
    Gone as well is what :func:`library_code` found, and the packages that are ``unneeded``.
    """
    if not kinds:
        return
    lost = dict.fromkeys(_operators(_MAKING_OTHERS), len)
    for kind in kinds:
        forbidden = FORBIDDEN[kind]
        for function in _functions(forbidden.functions):
            _refuse(function, f"{forbidden.says} may not be used here")
        _drop_compiled(re.compile(forbidden.functions).fullmatch)
        lost |= dict.fromkeys(_operators(forbidden.operators), len)
        if forbidden.gradients:
            formulas = dict.fromkeys(_operators(r"\w*(backward|_jvp)"), len)
            unrecorded = dict.fromkeys(_operators("", "aten"), torch.library.fallthrough_kernel)
            keep(*overriding((*_ENDS, *ALL_BACKENDS), formulas))
            keep(*overriding(("AutogradCPU",), unrecorded))
    keep(*overriding((*_ENDS, *_OTHER_ENDS, *ALL_BACKENDS), lost))
    # A place for a result could be of another kind as well.
    made = dict.fromkeys(("aten::empty.memory_format", "aten::empty_strided"), len)
    keep(*overriding(_OTHER_ENDS, made))
    for function in library_code(*unneeded):
        _refuse(function, "the library's own Python version may not be used here")
    library_code.cache_clear()
    linecache.clearcache()  # it may hold a file as it was
    _drop_packages({Path(path).name.partition(".")[0] for path in unneeded})
    for name in _OTHER_ENGINES:
        delattr(torch._C, name)


def refuse_machine_code() -> None:
    """Refuse for the rest of this process's life what calls a kernel past torch's dispatcher.

    These are functions of a shared library, by name or address, modules of machine code that were
    not installed, and memory for such code.
    """
    installed = tuple(f"{Path(place).resolve()}/" for place in sys.path if place)
    instead = "write it with operations of torch"

    def audit(event: str, arguments: Any) -> None:
        if event in _CALLING:
            raise NotAllowed(f"functions of a shared library may not be called here: {instead}")
        # Memory that is not mapped for a kind of access may be for code.
        own = event == "mmap.__new__" and not arguments[2]
        if event == "import" and isinstance(arguments[1], str):
            path = str(Path(arguments[1]).resolve())
            own = not path.startswith(installed) or arguments[0] in ("_cffi_backend", "audioop")
        if own:
            raise NotAllowed(f"machine code of one's own may not be used here: {instead}")

    keep(audit)  # or its code could be exchanged
    sys.addaudithook(audit)


@cache
def hidden_files(*unneeded: str) -> Mapping[Path, str]:
    """Folders and files that are seen otherwise where something is forbidden, with what is left.

    Of torch's operators written in Python once more, and of what is ``unneeded``, it is nothing; of
    a file with a forbidden function, all else: TorchScript reads what an answer calls.
    """
    found = [_TORCH / name for name in _IN_PYTHON] + [Path(path) for path in unneeded]
    left = dict.fromkeys((path for path in found if path.exists()), "")
    codes = {f.__code__ for kind in FORBIDDEN.values() for f in _functions(kind.functions)}
    for path in {Path(code.co_filename) for code in codes}:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        for first in {c.co_firstlineno - 1 for c in codes if c.co_filename == str(path)}:
            block = inspect.getblock(lines[first:])
            indent = block[0][: -len(block[0].lstrip())]
            lines[first : first + len(block)] = [f"{indent}pass\n", *"\n" * (len(block) - 1)]
        left[path] = "".join(lines)
    stale = (file for path in left for file in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"))
    return left | dict.fromkeys(stale, "")


@cache
def library_code(*unneeded: str) -> list[FunctionType]:
    """The functions that have been loaded of torch's, and of what is ``unneeded``, in closures too.

    To be called before :func:`gc.freeze`, since what is frozen is not listed.
    """
    if not torch:
        return []
    _functions.cache_clear()
    for kind in FORBIDDEN.values():
        _operators(kind.operators)
        _functions(kind.functions)
    within = (*(str(_TORCH / name) for name in _IN_PYTHON), *unneeded)
    # Their registration is called by imports, and what public functions ask for sizes: no numbers.
    spared = str(_TORCH / "_decomp/__init__.py")
    found = (f for f in _written(within) if f.__name__ != "_broadcast_shapes")
    return [f for f in found if f.__code__.co_filename != spared]


def _written(within: tuple[str, ...]) -> Iterator[FunctionType]:
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(within):
            yield thing


def _drop_compiled(forbidden: Any) -> None:
    """Take the functions of machine code from all modules of numpy."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "numpy"]:
        names = vars(sys.modules[name])
        for key, value in [*names.items()]:
            if type(value) is BuiltinFunctionType and forbidden(value.__name__):
                del names[key]


def _drop_packages(packages: Collection[str]) -> None:
    def refuse(name: str, *_: Any) -> None:
        if (package := name.partition(".")[0]) in packages:
            raise ModuleNotFoundError(f"`{package}` may not be used here: {NEEDED}", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        names = vars(sys.modules.pop(name))
        names.clear()
        names["__getattr__"] = partial(refuse, name)
    finder = type("Without", (MetaPathFinder,), {"find_spec": staticmethod(refuse)})
    sys.meta_path.insert(0, finder())


def keep(*things: Any) -> None:
    """Let them live as long as this process, in none of :mod:`gc`'s lists, which would tell."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        if gc.is_tracked(thing):
            ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(thing))


def refuses(kinds: Sequence[str], operator: str) -> bool:
    """Tell whether an operator, by its full name, is among those that are refused."""
    return any(re.match(rf"\w+::(?:{FORBIDDEN[kind].operators})", operator) for kind in kinds)


def shortcuts(kinds: Sequence[str], operators: Sequence[str]) -> list[str]:
    """Those of some operators about which a person is asked where these kinds are forbidden."""
    pattern = "|".join(FORBIDDEN[kind].shortcuts for kind in kinds)
    return [name for name in operators if re.match(rf"\w+::(?:{pattern})", name)]


@contextlib.contextmanager
def alone(but: int = 0) -> Iterator[None]:
    """No process, in which nothing would be refused, is started meanwhile ``but`` by one thread."""
    _answering.append(but)
    _hook()
    try:
        yield
    finally:
        _answering.pop()


_answering: list[int] = []
# Where all ways to an operator end: under `vmap`, what has no rule falls apart before a CPU's turn.
_ENDS = ("CPU", "FuncTorchBatchedDecomposition")
# Other kinds of tensors have kernels of their own; only `for_good` takes those.
_OTHER_ENDS = ("MkldnnCPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU")
# Kernels of no backend's own, which torch hands out as those of any other.
ALL_BACKENDS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_MAKING_OTHERS = (
    r"_?to_(mkldnn|sparse)|_?sparse_\w*tensor|quantize_per_|_empty_\w*quantized|_nested_"
)
# Runs compiled graphs past the dispatcher, or differentiates them past the engine.
_OTHER_ENGINES = (
    "StaticModule _jit_to_static_module _fuse_to_static_module _jit_differentiate"
    " _jit_pass_create_autodiff_subgraphs"
).split()
_IN_PYTHON = (
    "_decomp _refs _prims ao masked _numpy _inductor onnx nested nn/attention/flex_attention.py"
    " _higher_order_ops/flex_attention.py testing/_internal jit/_decompositions.py"
    " distributed/tensor distributed/_tensor nn/utils/_expanded_weights ../functorch/einops"
).split()
_TORCH = Path(torch.__file__ if torch else "torch").parent
# Where :attr:`Forbidden.functions` are looked for.
_LIBRARIES = (f"{_TORCH}/", f"{Path(numpy.__file__).parent}/", statistics.__file__)
_CALLING = frozenset(
    "ctypes.dlopen ctypes.dlsym ctypes.dlsym/handle ctypes.call_function ctypes.cdata"
    " ctypes.string_at sqlite3.load_extension".split()
)
_STARTS = frozenset(
    "os.fork os.forkpty os.exec os.posix_spawn os.spawn os.system subprocess.Popen".split()
)


@cache
def _hook() -> None:
    # It stays for good, and looks at nothing while no answer is checked.
    def refused() -> bool:
        return bool(_answering) and get_ident() != _answering[-1]

    def audit(event: str, arguments: Any) -> None:
        if event in _STARTS and refused():
            raise NotAllowed("an answer may start no other process or program while it is checked")

    sys.addaudithook(audit)
    if os.name == "posix":  # A module below `subprocess` forks without an event.
        os.register_at_fork(after_in_child=lambda: refused() and os._exit(1))


@contextlib.contextmanager
def _refused(forbidden: Forbidden, message: str) -> Iterator[None]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotAllowed(message)

    held = overriding(_ENDS, dict.fromkeys(_operators(forbidden.operators), refuse))
    functions = _functions(forbidden.functions)
    codes = [function.__code__ for function in functions]
    try:
        for function in functions:
            _refuse(function, message)
        yield
    finally:
        for function, code in zip(functions, codes, strict=True):
            function.__code__ = code
        held.clear()


def overriding(keys: Sequence[str], kernels: Mapping[str, Any], **options: bool) -> list[Any]:
    """Kernels in the place of torch's own, at some of its dispatch keys, while the result lives."""
    held: dict[tuple[str, str], Any] = {}
    with warnings.catch_warnings():
        # torch says once that a kernel is being replaced, which is what is wanted.
        warnings.simplefilter("ignore")
        for key, (full, kernel) in product(keys, kernels.items()):
            space, _, name = full.partition("::")
            if (space, key) not in held:
                held[space, key] = torch._C._dispatch_library("IMPL", space, key, __file__, 0)
            held[space, key].impl(name, key, kernel, **options)
    return list(held.values())


@cache
def _operators(pattern: str, library: str = r"\w+") -> tuple[str, ...]:
    matching = re.compile(f"{library}::(?:{pattern})").match
    return tuple(name for name in torch._C._dispatch_get_all_op_names() if matching(name))


@cache
def _functions(pattern: str) -> list[FunctionType]:
    matching = re.compile(pattern).fullmatch
    return [function for function in _written(_LIBRARIES) if matching(function.__qualname__)]


def _refuse(function: FunctionType, message: str) -> None:
    function.__code__ = _refusal(message, function.__code__.co_freevars)


@cache
def _refusal(message: str, outer: tuple[str, ...] = ()) -> CodeType:
    # Runs with the other function's global names; its names of ``outer`` ones are never read.
    source = f"""
def refuse(*args, **kwargs):
    from grader.checks.forbidden import NotAllowed
    raise NotAllowed({message!r})
"""
    names: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), names)
    code = names["refuse"].__code__
    assert isinstance(code, CodeType)
    return code.replace(co_freevars=outer)
