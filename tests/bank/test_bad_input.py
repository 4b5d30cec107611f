"""What students hand in that is no answer: one sentence says so, in every exercise."""

import inspect
from pathlib import Path

import pytest
from torch import Tensor

from grader.authoring import answers
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find
from grader.checks.grading import grade_source
from grader.checks.seeds import sample_seed
from grader.checks.trial import Trial

MODELS = answers(Path(__file__).parents[2])
WRAPPED = """

_right = {function}


def _each(value, change):
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_each(item, change) for item in value)
    return value


def {function}(*args, **kwargs):
    value = _right(*args, **kwargs)
    return {instead}
"""
# What comes back instead of the right value, and what some sentence has to say of it.
OF_ANY = {
    "nothing": ("None", "None (is a `return` missing?)"),
    "a tuple": ("(value,)", "value"),
    "a module": ("nn.Linear(1, 1)", "a Linear"),
    "a text": ("'done'", "str"),
}
OF_TENSORS = {
    "numpy": ("_each(value, lambda t: t.detach().double().numpy())", "a numpy array"),
    "another device": ("_each(value, lambda t: t.to('meta'))", "on the device meta"),
    "sparse": ("_each(value, lambda t: t.detach().to_sparse())", "sparse"),
    "complex": ("_each(value, lambda t: t.to(torch.complex64))", "has dtype complex64, expected"),
}
# Nothing of a check's own making belongs in front of a student.
INSIDE = ("Traceback", "course_lib", "Opaque", "NoneType", "could not be looked at", "unpack", "\n")


def report(identifier, instead):
    exercise, model = find(identifier), MODELS[identifier]
    source = WRAPPED.format(function=exercise.function, instead=instead)
    return grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")


def returned(identifier):
    said = inspect.signature(find(identifier).reference).return_annotation
    return "Tensors" if said is inspect.Signature.empty else inspect.formatannotation(said)


WITH_TENSORS = [identifier for identifier in MODELS if "Tensor" in returned(identifier)]
CASES = [
    (i, *OF_ANY[case], case)
    for i in MODELS
    for case in OF_ANY
    if case != "a text" or returned(i) != "str"
]
CASES += [(i, *OF_TENSORS[case], case) for i in WITH_TENSORS for case in OF_TENSORS]


@pytest.mark.sample
@pytest.mark.parametrize("identifier", MODELS)
def test_a_reference_returns_what_it_says(identifier):
    exercise = find(identifier)
    trial = Trial(exercise, AnswerProxy.local({}), sample_seed("0", identifier, "example"))
    value = trial.want(*exercise.example(trial))
    parts = value if isinstance(value, tuple) else (value,)
    assert any(isinstance(part, Tensor) for part in parts) == (identifier in WITH_TENSORS)
    assert isinstance(value, str) == (returned(identifier) == "str")


@pytest.mark.sample
@pytest.mark.parametrize(
    ("identifier", "instead", "said", "case"), CASES, ids=[f"{c[0]}: {c[-1]}" for c in CASES]
)
def test_a_value_of_another_kind_is_named(identifier, instead, said, case):
    found = report(identifier, instead)
    why = [row.why for row in found.rows if not row.passed]
    assert found.score <= found.max_points / 2
    assert any(said in sentence for sentence in why), why
    assert not any(inside in sentence for inside in INSIDE for sentence in why), why


@pytest.mark.sample
@pytest.mark.parametrize("identifier", WITH_TENSORS)
def test_another_precision_is_named_or_left_free(identifier):
    found = report(identifier, "_each(value, lambda t: t.to(torch.float16))")
    if not found.full:
        assert any("float16" in row.why or "entries differ" in row.why for row in found.rows)


@pytest.mark.sample
@pytest.mark.parametrize("source", ["", "def renamed(*args):\n    return args\n"])
@pytest.mark.parametrize("identifier", MODELS)
def test_a_deleted_cell_and_a_renamed_function_are_said_once(identifier, source):
    exercise = find(identifier)
    found = grade_source(exercise, source, "07")
    assert found.score == 0
    said = " ".join(found.table().split())
    sentence = f"`{exercise.function}` is not defined: was its cell run, or was it renamed?"
    assert said.count(sentence) == 1 and "Traceback" not in said


@pytest.mark.sample
@pytest.mark.parametrize("value", ["def {}(): pass", "{} = 3", "class {}: pass"])
@pytest.mark.parametrize("identifier", MODELS)
def test_what_cannot_be_called_so_is_said(identifier, value):
    exercise = find(identifier)
    found = grade_source(exercise, value.format(exercise.function), "07")
    assert found.score == 0
    # Without arguments the first and the last can be called: what comes back is then named.
    called = value != "{} = 3" and not inspect.signature(exercise.reference).parameters
    said = "the result is " if called else "raised TypeError: "
    assert all(row.why.startswith(said) for row in found.rows), found.rows
    assert not any("course_lib" in row.why or "\n" in row.why for row in found.rows)
