"""Whether a notebook uses everyday names only.

What a student may not call is refused in the student's own process, and code that walks up the
stack, or reaches for the interpreter's inner workings, could undo that there. Such code needs names
that no honest answer to an exercise needs. So an answer whose every name is in a vocabulary is
believed, and any other is graded again where nothing can be undone
(:func:`course_lib.grading.judge.judge_notebook`): a name that is missing here costs time, never
points.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from functools import cache

__all__ = ["VOCABULARY", "ordinary"]

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
    Any Callable Counter Fraction Iterable Optional Sequence Union append array asarray axhline
    axvline bar check choice colorbar collections comb contextlib copy count dataclass deepcopy
    defaultdict degrees denominator e endswith extend factorial field figure format functools
    gcd get getLogger grid hist hypot imshow index info insert isqrt items itertools join keys
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
    return all(_everyday(node, bound) for tree in trees for node in ast.walk(tree))


@cache
def _names(given: tuple[str, ...]) -> frozenset[str]:
    # The same for all of a class.
    return frozenset(_bound([ast.parse(_plain(source)) for source in given]))


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


def _everyday(node: ast.AST, bound: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in VOCABULARY or node.attr in _METHODS
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in vars(builtins):
            return node.id in _BUILTINS
        return node.id in bound or node.id == "display"
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return names <= VOCABULARY or (node.module or "").startswith("course_lib.")
    if isinstance(node, _DEFINITIONS):
        return not node.name.startswith("__") or node.name in _METHODS
    # A pattern reads attributes whose names stand nowhere else.
    return not isinstance(node, ast.Match)
