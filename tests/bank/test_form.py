"""Answers of the right form or of another type: what a wrong value or a dtype costs."""

import ast
import inspect
import re
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from course_lib.bank.space.axial_rotate import exercise
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.compare import equal
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade_source, quiet
from grader.checks.seeds import sample_seed
from grader.checks.trial import Trial, attempt

from .test_bad_input import MODELS

# Rows on gradients, costs, arguments left alone and errors say nothing of what is returned.
NO_VALUE = re.compile(r"\bt\.(gradient|vjp|unchanged|raises|size_probe)\(")
# Rows for which another value is as right, or is compared in another row, and why.
FREE = {
    "block.layer_norm": {"dtype": "its sentence is on the dtype alone"},
    "sinusoids.add_positions": {"dtype": "its sentence is on the dtype alone"},
    "swin.relative_index": {"looks up": "its sentence is on the dtype; any numbering is right"},
    "cheaper.mix_keys": {"nothing": "its sentence is on a sentence of zeros"},
    "seq2seq.read_both_ways": {"after the end": "its sentence is on what is exactly 0"},
    "informer.opposite_rows": {
        "by the first": "any pair of rows will do",
        "by the second": "any pair of rows will do",
        "impossible": "None is the only answer",
    },
    "space.grid_positions": {"halves": "any code that has the halves will do"},
    "space.repaired_sum": {
        "distinct": "any code whose sums differ will do",
        "a sum": "any code whose sums differ will do",
        "thin": "any code whose sums differ will do",
    },
    "seeing.break_distance": {"rows and columns": "any example will do"},
    "relative.alibi_reach": {
        "eight heads": "within one key; whole keys are compared in a row",
        "other heads": "within one key; whole keys are compared in a row",
        "short past": "within one key; whole keys are compared in a row",
    },
    "transformer.next_distribution": {"nucleus": "it counts tokens; another row compares them"},
    "informer.forecast_windows": {"consecutive": "it compares windows; another row their scale"},
}


def rolled(value):
    """The same entries in other places, along the last axis where that changes something."""
    for axis in range(-1, -value.dim() - 1, -1):
        if not equal(new := value.roll(1, axis), value).all():
            return new
    return None


def uneven(value):
    """Other entries: of shares the sum stays, and everywhere what is 0 or infinite."""
    if not value.is_floating_point():
        return ~value if value.dtype == torch.bool else value + 1
    if value.dim() and (value >= 0).all() and value.isfinite().all():
        square = value * value
        square *= value.sum(-1, keepdim=True) / square.sum(-1, keepdim=True).clamp(min=1e-30)
        if not equal(square, value).all():
            return square
    return torch.where(value.isinf(), -value, value * 1.5 + 0.1 * (value == 0).all())


def changed(value, way):
    """A wrong value of the same form."""
    if isinstance(value, Tensor):
        other = None if way == "uneven" else rolled(value)
        return value if not value.numel() else uneven(value) if other is None else other
    if isinstance(value, (list, tuple)):
        return type(value)(changed(v, way) for v in value)
    if isinstance(value, dict):
        return {k: changed(v, way) for k, v in value.items()}
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        more = 1.5 * value + 1 if isinstance(value, float) else value + 1
        return more if abs(value) < torch.inf else -value
    return f"{value}?" if isinstance(value, str) else value


def key(value):
    tensors = [v for v in value if isinstance(v, Tensor) and v.is_floating_point()]
    usual = all(v.isfinite().all() and (v.abs() < 10).all() for v in tensors)
    return str(
        [
            (v.dtype if usual else "", v.double().tolist()) if isinstance(v, Tensor) else v
            for v in value
        ]
    )


class OnceWrong(AnswerProxy):
    """An answer whose replies to one call, and to the same in another dtype, are wrong."""

    target = way = None

    def call(self, name, *args, **kwargs):
        reply, known = super().call(name, *args, **kwargs), key((*args, *kwargs.items()))
        self.calls[known] = None
        wrong = reply.error is None and known == self.target
        return replace(reply, value=changed(reply.value, self.way)) if wrong else reply


@pytest.mark.sample
@pytest.mark.parametrize("identifier", list(MODELS))
def test_no_row_is_content_with_a_wrong_value_of_the_right_form(identifier):
    exercise, model = find(identifier), MODELS[identifier]
    blind = []
    with quiet():
        proxy = OnceWrong.local(namespace(exercise, f"{model.before}\n\n{model.source}"))
        for prop in exercise.properties:

            def holds(target, way, prop=prop):
                proxy.target, proxy.way, proxy.calls = target, way, {}
                trial = Trial(exercise, proxy, sample_seed("07", identifier, prop.name))
                with proxy.refusing(exercise.forbidden, identifier):
                    return attempt(prop.run, trial)[1] is None and not trial.elsewhere

            assert holds(None, None)
            calls = list(proxy.calls)[:: max(1, len(proxy.calls) // 8)]
            free = NO_VALUE.search(inspect.getsource(prop.run)) or exercise.any_size
            if calls and not free and all(holds(c, w) for c in calls for w in ("roll", "uneven")):
                blind.append(prop.name)
    assert set(blind) <= set(FREE.get(identifier, ())), blind


class Slip(ast.NodeTransformer):
    """Bounds the scores of every softmax, or fills in a number for minus infinity."""

    def __init__(self, fill):
        self.fill, self.found = fill, 0

    def generic_visit(self, node):
        super().generic_visit(node)
        text = ast.unparse(node) if isinstance(node, ast.expr) else ""
        if self.fill and text in ("-torch.inf", "-math.inf", "float('-inf')"):
            self.found += 1
            return ast.Constant(self.fill)
        if self.fill or not isinstance(node, ast.Call) or "softmax" not in ast.unparse(node.func):
            return node
        self.found += 1
        method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "F"
        scores = node.func.value if method else node.args[0]
        bounded = ast.parse(f"_bounded({ast.unparse(scores)})", mode="eval").body
        if method:
            node.func.value = bounded
        else:
            node.args[0] = bounded
        return node


BOUNDED = "\n\ndef _bounded(s):\n    return torch.where(s == -torch.inf, s, s.clamp(-300, 300))\n"
# Where no fair input can tell, or numbers are none of what is asked for, and why.
HARMLESS = {
    "informer.video_attention": "a token's product with itself is never below a fill",
    "masks.leak_gap": "infinity is what is returned, and no score",
    "start.train": "its numbers stay small",
}


@pytest.mark.sample("attention.scaled_dot_product", "attention.self_attention")
@pytest.mark.parametrize("identifier", list(MODELS))
def test_bounded_scores_and_a_finite_fill_lose_points(identifier):
    exercise, model = find(identifier), MODELS[identifier]
    for fill in (None, -200.0, -1e4):
        slip = Slip(fill)
        source = ast.unparse(ast.fix_missing_locations(slip.visit(ast.parse(model.source))))
        if slip.found and identifier not in HARMLESS:
            report = grade_source(exercise, f"{model.before}{BOUNDED}\n{source}", "07")
            assert report.score < report.max_points, fill


CAST = """

_right = {function}


def _cast(value):
    if isinstance(value, Tensor):
        return {cast}
    if isinstance(value, dict):
        return {{key: _cast(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_cast, value))
    return value


def {function}(*args, **kwargs):
    return _cast(_right(*args, **kwargs))
"""
CASTS = {
    "double": "value.double() if value.is_floating_point() else value",
    "narrow": "value.to(torch.int32) if value.dtype == torch.int64 else value",
    "real": "value.double() if value.dtype == torch.int64 else value",
    "numbers": "value.long() if value.dtype == torch.bool else value",
}
# What a text may say of the dtype of what is returned, or a requirement of it.
NAMES_ONE = re.compile(r"dtype|float\d\d|int64|[Bb]oolean|half|any precision|stay whole")
# Their dtype is what is asked for: a mask of whole numbers means something else than one of truths.
CONVENTIONS = {("masks.convert_mask", "numbers")}
# These outgrow 32 bits: another number, not another dtype.
LONG = {("seq2seq.gate_reach", "narrow")}


@pytest.mark.sample
@pytest.mark.parametrize("identifier", MODELS)
def test_right_numbers_in_another_dtype_cost_half_a_point_at_most(identifier, section):
    exercise, model = find(identifier), MODELS[identifier]
    for name, cast in CASTS.items():
        if (identifier, name) in CONVENTIONS | LONG:
            continue
        source = CAST.format(function=exercise.function, cast=cast)
        report = grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")
        failed = [row for row in report.rows if not row.passed]
        lost = sum(row.points for row in failed)
        assert lost <= 0.5, (name, failed)
        if lost:
            assert NAMES_ONE.search(section(identifier) + failed[0].says), name


(KIND,) = (each for each in exercise.properties if each.run.__name__ == "kind")


def turning(frequencies, angle, cosine):
    """An answer with a dtype for each step."""

    def axial_rotate(x, rows, columns, n_prefix=0, base=100.0):
        half = x.shape[-1] // 2
        rates = (base ** -(torch.arange(0, half, 2, dtype=frequencies) / half)).to(angle)
        n = torch.arange(rows * columns)[:, None]
        angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
        cos, sin = angles.cos().to(cosine), angles.sin().to(cosine)
        first, grid = x[..., :n_prefix, :], x[..., n_prefix:, :]
        a, b = grid[..., 0::2], grid[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        return torch.cat([first, turned.to(x.dtype)], dim=-2)

    return axial_rotate


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("dtypes", "right"),
    [
        ((torch.float64, torch.float64, torch.float64), True),
        ((torch.float64, torch.float64, torch.float32), True),
        ((torch.float32, torch.float64, torch.float64), False),
        ((torch.float64, torch.float32, torch.float64), False),
        ((torch.float32, torch.float32, torch.float32), False),
    ],
)
def test_the_precision_of_angles_decides(dtypes, right, seed):
    proxy = AnswerProxy.local({"axial_rotate": turning(*dtypes)})
    why = attempt(KIND.run, Trial(exercise, proxy, seed))[1]
    assert (why is None) == right, why
    assert right or "float64, a row of" in why
