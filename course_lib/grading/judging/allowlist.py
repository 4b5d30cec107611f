"""Whether a notebook uses everyday names only.

What a student may not call is refused in the student's own process, and code that walks up the
stack, or reaches for the interpreter's inner workings, could undo that there. Such code needs names
that no honest answer to an exercise needs. So an answer whose every name is in a vocabulary is
believed, and any other is graded again where nothing can be undone
(:func:`course_lib.grading.judging.judge.judge_notebook`): a name that is missing here costs time,
never points.

That second look leaves out what is *odd*: statements with names that lead to inner workings, to
other programs or to packages that are not the course's. What earns as much without them is
believed, too. For the rest a person is asked.
"""

import ast
import builtins
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import (
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)

import torch

_TORCH = """
    Generator Linear LayerNorm Embedding Module ModuleList MultiheadAttention Parameter ReLU
    GELU GRU LSTM RNN Sequential Tensor abs acos add addmm all allclose amax amin any arange
    argmax argmin argsort as_strided asin atan2 atanh autograd backward baddbmm bernoulli
    bfloat16 bincount block_diag bmm bool broadcast_tensors broadcast_to cartesian_prod cat
    cdist ceil chunk clamp clamp_min clone complex concat contiguous copy_ cos count_nonzero
    cross_entropy cummax cumprod cumsum deg2rad detach device diag diag_embed diagonal diff dim
    div dot double dropout dtype einsum empty empty_like enable_grad eps equal exp exp2 expand
    expand_as expm1 eye fill_ fill_diagonal_ finfo flatten flip float float16 float32 float64
    floor floor_divide fmod forward frexp full full_like functional gather ge gelu grad gt half
    imag inf index_add index_select int int64 is_floating_point isclose isfinite isinf isnan
    item jacobian kthvalue layer_norm ldexp le linalg linear linspace log log10 log1p log2
    log_softmax logical_and logical_not logical_or logical_xor logspace logsumexp long lt mT
    manual_seed masked_fill masked_fill_ masked_scatter masked_select matmul matrix_exp
    matrix_norm matrix_power max max_pool1d maximum mean median meshgrid min minimum mm movedim
    mul multinomial mv named_parameters nan nan_to_num narrow ndim neg new_full new_ones
    new_tensor new_zeros nextafter nn no_grad nonzero norm normalize numel numpy one_hot ones
    ones_like out_proj outer pad parameters permute polar pow prod quantile rand randint randn
    randn_like randperm real reciprocal relu remainder repeat repeat_interleave requires_grad
    requires_grad_ reshape roll round rsqrt scaled_dot_product_attention scatter scatter_
    scatter_add searchsorted shape sigmoid sign sin size softmax softplus sort split sqrt square
    squeeze stack std sub sum swapaxes t take_along_dim tanh tensor tensordot testing
    assert_close tile tiny to tolist topk transpose tril tril_indices triu triu_indices type_as
    unbind unflatten unfold unique unsqueeze values var vector_norm view view_as view_as_complex
    view_as_real vsplit weight where zero_ zero_grad zeros zeros_like bias in_proj_weight step T
    data SGD Adam AdamW optim logsigmoid promote_types bucketize indices
"""
_OTHER = """
    Any Callable Counter Fraction Iterable Optional Sequence Union append array asarray axes axhline
    axvline axvspan bar check choice colorbar collections comb contextlib copy count dataclass
    deepcopy defaultdict degrees denominator e endswith extend factorial field figure format
    functools gcd get getLogger grid hist hypot imshow index info insert isqrt items
    itertools join keys
    legend loglog lower lru_cache math matplotlib ndarray numerator partial perf_counter pi plot
    pop product pyplot random rcParams reduce replace reverse savefig scatter seed set set_title
    set_xlabel set_xticks set_ylabel set_yticks setdefault show source startswith stderr stdout
    strip subplots suppress symbols target tau text tight_layout time title typing update upper
    warn warning warnings write xlabel ylabel zfill
"""
VOCABULARY = frozenset(f"{_TORCH} {_OTHER}".split())

# Of what Python itself defines; the rest is names of errors.
_BUILTINS = frozenset(
    """abs all any bool bytes callable complex dict divmod enumerate filter float frozenset
    hash int isinstance issubclass iter len list map max min next object pow print
    property range repr reversed round set slice sorted staticmethod str sum super tuple
    zip NotImplemented Ellipsis""".split()
) | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_METHODS = frozenset(f"__{name}__" for name in "init call repr str len iter getitem".split())

# What may be imported: of these a vocabulary's names are what they are taken for.
_MODULES = frozenset(
    """math cmath random time copy string typing typing_extensions dataclasses collections
    collections.abc itertools functools contextlib fractions decimal statistics numbers enum abc
    heapq bisect datetime textwrap pprint logging warnings __future__ numpy matplotlib
    matplotlib.pyplot tqdm tqdm.auto tqdm.notebook sys os pathlib platform torch torch.nn
    torch.nn.functional torch.nn.init torch.linalg torch.special torch.fft torch.optim
    torch.testing torch.utils.data course_lib""".split()
)

# Names that lead nowhere but are in no solution, either: of tensors, of functions and layers, of
# Python's own types, and of modules that a cell is likely to use.
_HARMLESS = """
    DataLoader Dataset TensorDataset Enum NamedTuple TypeVar Generic Protocol Literal Final ClassVar
    Iterator Mapping Tuple List Dict Set OrderedDict deque namedtuple chain islice cycle zip_longest
    accumulate permutations combinations starmap groupby pairwise wraps partial cache lru_cache
    cached_property total_ordering singledispatch overload cast Number Decimal Path abstractmethod
    auto field asdict astuple fields contextmanager nullcontext redirect_stdout version version_info
    platform executable argv getcwd cpu_count environ stdout stderr stdin flush isatty getLogger
    basicConfig DEBUG INFO WARNING ERROR debug error critical setLevel filterwarnings simplefilter
    catch_warnings tqdm trange monotonic process_time sleep now today strftime isoformat timedelta
    datetime date jit script trace ignore compile functional init utils data
    xavier_uniform_ kaiming_uniform_ uniform_ normal_ constant_ orthogonal_ inference_mode
    set_grad_enabled no_grad special fft set_default_dtype get_default_dtype set_num_threads
    set_printoptions
    manual_seed named_modules named_children children eval train state_dict
    load_state_dict register_buffer register_parameter buffers add_module apply extra_repr
    annotations name value mean median stdev mode pstdev variance heappush heappop nsmallest
    nlargest bisect_left bisect_right insort sqrt pprint pformat dedent indent fill wrap
""".split()
_SPECIAL = frozenset(
    f"__{name}__"
    for name in """name doc version all main post_init enter exit eq ne lt le gt ge hash add radd
    sub rsub mul rmul truediv matmul rmatmul neg pow next contains bool setitem""".split()
)
# Of torch's, what reads files, hooks into a backward pass or hands out memory.
_HATCHES = frozenset(
    """load save from_file grad_fn register_hook register_post_accumulate_grad_hook set_ storage
    untyped_storage data_ptr share_memory_ map_ map2_ apply_ module_load gradient""".split()
)
_HARMLESS_BUILTINS = _BUILTINS | frozenset(
    "ascii bin bytearray callable chr classmethod format hasattr hex input oct ord".split()
)
# Attributes that a cell may set; setting any other could change what others call.
_SETTABLE = frozenset("data grad requires_grad weight bias".split())
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def ordinary(own: Sequence[str], given: Sequence[str] = ()) -> bool:
    """Whether code can't do more than compute: nothing is run.

    Args:
        own: The cells that a student wrote.
        given: The cells that were handed out, whose names may be used.

    Example:
        >>> ordinary(["import torch", "def answer(q): return torch.softmax(q, -1)"])
        True
        >>> ordinary(["def answer(q): return q.grad_fn"])  # needs no answer; is looked at again
        False
        >>> ordinary(["import sys", "def answer(q): return sys._getframe()"])
        False
        >>> ordinary(["def answer(q): return eval('q')"])
        False
    """
    try:
        trees = [ast.parse(_plain(source)) for source in own]
        bound = {*_bound(trees), *_names(tuple(given))}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(True for tree in trees for _ in _odd(tree, bound))


def odd(source: str, own: Sequence[str], given: Sequence[str]) -> list[str]:
    """The names in a statement that no plain computation needs: nothing is run.

    Args:
        source: The statement.
        own: All cells that the student wrote.
        given: The cells that were handed out.

    Example:
        >>> odd("x = torch.fft.rfft(torch.ones(4))", ["import torch"], [])
        []
        >>> odd("x = torch.ops.aten.tanh_backward(x, y)", ["import torch", "x = y = 1"], [])
        ['tanh_backward', 'aten', 'ops']
        >>> odd("!ls", [], [])
        ['a command']
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ["a command" if source.lstrip()[:1] in "!%?" else "what is no Python"]
    bound = {*_names(tuple(own)), *_names(tuple(given))}
    return list(dict.fromkeys(_odd(tree, bound, _fields(tuple(own)))))


def statements(source: str) -> list[str]:
    """The statements of a cell, one by one; a line of IPython's own is one, too.

    Example:
        >>> statements("%%time\\n!pip list\\nimport math; x = 1\\n@f\\ndef g():\\n    return x")
        ['%%time', '!pip list', 'import math; x = 1', '@f\\ndef g():\\n    return x']
    """
    if re.match(r"%%(?!time\b|capture)", source.lstrip()):
        return [source]
    lines = source.splitlines()
    magic = re.compile(r"\s*([%!?]|[\w, ]+=\s*[%!]).*|.*\w\?+\s*")
    parts = [line for line in lines if magic.fullmatch(line)]
    try:
        body = ast.parse(source).body
        parts = []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = ["" if magic.fullmatch(line) else line for line in lines]
        try:
            body = ast.parse("\n".join(lines)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return [source]
    last = 0
    for node in body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[max(first - 1, last) : node.end_lineno])
        last = node.end_lineno or last
        parts += [text] if text.strip() else []
    return parts


@cache
def _names(given: tuple[str, ...]) -> frozenset[str]:
    # The same for all of a class.
    parts = (statement for source in given for statement in statements(source))
    return frozenset(_bound(_parsed(statement) for statement in parts))


@cache
def _plain_words() -> frozenset[str]:
    """Everything public of tensors, functions, layers and Python's own types that computes."""
    owners = (str, list, dict, set, tuple, float, int, complex, bytes, math, torch.Tensor, torch.nn,
              torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.fft,
              torch.optim, torch._C._VariableFunctions)  # fmt: skip
    found = {
        name for o in owners for name in dir(o)
        if not isinstance(getattr(o, name, None), ModuleType)
    }  # fmt: skip
    found.update(name for name, value in vars(torch).items() if isinstance(value, torch.dtype))
    public = {name for name in found - _HATCHES if not name.startswith("_")}
    return frozenset({*VOCABULARY, *_HARMLESS, *public})


@cache
def _inner_words() -> frozenset[str]:
    """Names that lead to inner workings, and stay so when a class of one's own uses them, too."""
    owners = (sys, os, torch, torch._C, torch.nn, torch.utils, torch.autograd, builtins, CodeType,
              FunctionType, GeneratorType, CoroutineType, FrameType, TracebackType)  # fmt: skip
    return frozenset(name for owner in owners for name in vars(owner)) - _plain_words()


@cache
def _fields(own: tuple[str, ...]) -> frozenset[str]:
    """Attributes that a notebook gives its own classes and objects."""
    found: set[str] = set()
    for statement in (statement for source in own for statement in statements(source)):
        for node in ast.walk(_parsed(statement)):
            if isinstance(node, ast.ClassDef):
                found.update(_bound(node.body))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return frozenset(n for n in found if not n.startswith("__")) - _inner_words()


def _parsed(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _plain(source: str) -> str:
    # The one magic that notebooks begin with; any other is no Python and therefore not ordinary.
    return source.replace("%matplotlib inline", "")


def _bound(trees: Iterable[ast.AST]) -> Iterable[str]:
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id
            elif isinstance(node, _DEFINITIONS):
                yield node.name
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
            elif isinstance(node, ast.ExceptHandler) and node.name:
                yield node.name


def _odd(tree: ast.AST, bound: set[str], fields: frozenset[str] | None = None) -> Iterator[str]:
    """Names outside the vocabulary, or, where own fields are given, outside all that computes."""
    wide = fields is not None
    words = _plain_words() | (fields or frozenset()) if wide else VOCABULARY
    methods = _METHODS | _SPECIAL if wide else _METHODS
    allowed = _HARMLESS_BUILTINS if wide else _BUILTINS
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            store = not isinstance(node.ctx, ast.Load) and node.attr not in _SETTABLE
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            # A new name changes nothing of what others call.
            changes = store and not own and (not wide or node.attr in _plain_words())
            if changes or not (node.attr in words or node.attr in methods):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in vars(builtins):
                if node.id not in allowed:
                    yield node.id
            elif not (node.id in bound or node.id in ("display", "__name__")):
                yield node.id
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name not in _MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."
            if not (module in _MODULES or module.startswith("course_lib.")):
                yield module
            elif not module.startswith("course_lib"):
                yield from (a.name for a in node.names if a.name not in words)
        elif isinstance(node, _DEFINITIONS):
            if node.name.startswith("__") and node.name not in methods:
                yield node.name
        elif isinstance(node, ast.Match):
            # A pattern reads attributes whose names stand nowhere else.
            yield "match"
