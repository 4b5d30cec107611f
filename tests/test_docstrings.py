"""What the documentation of the library promises: shapes, errors, and an example that runs."""

import ast
import re
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[1] / "course_lib"
TOPICS = (
    "attention", "masks", "seq2seq", "recurrence", "layers", "decoding", "transformer",
    "attention_maps", "positions", "vit", "swin", "favit", "resnet", "hybrid", "efficient",
    "informer", "multimodal", "mixing", "scaling", "lookup", "alignment",
    "data",
)  # fmt: skip
SHAPE = re.compile(r"``[^`]*\(.*?\)[^`]*``|``\d|[Ss]calar|any shape|boolean|mask", re.DOTALL)


def modules():
    for topic in TOPICS:
        yield from sorted(LIBRARY.glob(f"{topic}.py"))
        yield from sorted((LIBRARY / topic).rglob("*.py"))


def public(tree):
    """Functions and classes that the module offers: ``__all__``, or what is not private."""
    names = {n.name for n in tree.body if hasattr(n, "name") and not n.name.startswith("_")}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = set(ast.literal_eval(node.value))
    return [n for n in tree.body if getattr(n, "name", None) in names]


def entries(docstring, heading):
    """The entries of a section of a docstring, by name."""
    match = re.search(rf"^ *{heading}:\n(.*?)(?=^ *[A-Z][a-z]+:\n|\Z)", docstring, re.M | re.S)
    if not match:
        return {}
    body = match[1]
    indent = re.match(r" *", body)[0]
    parts = re.split(rf"^{indent}(\*{{0,2}}\w+)(?: \(.*?\))?:", body, flags=re.M)
    return {name.strip("*"): text for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def arguments(function):
    every = [*function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in every if argument.arg != "self"]


def tensor_arguments(function):
    for argument in [*function.args.args, *function.args.kwonlyargs]:
        if argument.annotation and re.search(r"\bTensor\b", ast.unparse(argument.annotation)):
            yield argument.arg


def problems(node):
    docstring = ast.get_docstring(node) or ""
    if not docstring:
        yield "no docstring"
        return
    if ">>>" not in docstring:
        yield "no example that runs"
    function = node
    if isinstance(node, ast.ClassDef):
        methods = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
        if "__init__" in methods and methods["__init__"].args.args[1:]:
            described = entries(docstring, "Args")
            for argument in methods["__init__"].args.args[1:]:
                if argument.arg not in described:
                    yield f"argument {argument.arg} is not described"
        elif any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            fields = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            described = entries(docstring, "Args") | entries(docstring, "Attributes")
            for name in sorted(fields - described.keys()):
                yield f"field {name} is not described"
        if "forward" not in methods:
            return
        function = methods["forward"]
        docstring = ast.get_docstring(function) or ""
    described = entries(docstring, "Args")
    for name in arguments(function):
        if name not in described:
            yield f"argument {name} is not described"
    for name in tensor_arguments(function):
        if name in described and not SHAPE.search(described[name]):
            yield f"argument {name} has no shape"
    returns = ast.unparse(function.returns) if function.returns else ""
    if "Tensor" in returns:
        match = re.search(r"^ *Returns:\n(.*?)(?=^ *[A-Z][a-z]+:\n|\Z)", docstring, re.M | re.S)
        if not match:
            yield "what it returns is not described"
        elif not SHAPE.search(match[1]):
            yield "what it returns has no shape"
    raised = any(
        isinstance(n, ast.Raise) and "ValueError" in ast.unparse(n) for n in ast.walk(function)
    )
    if raised and "Raises:" not in docstring:
        yield "its ValueError is not described"


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(LIBRARY).as_posix())
def test_public_names_say_shapes_and_errors_and_show_an_example(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wrong = [f"{node.name}: {problem}" for node in public(tree) for problem in problems(node)]
    assert not wrong, "\n".join(wrong)


def test_a_docstring_without_shapes_is_found():
    source = '''
def f(x: Tensor, y: Tensor) -> Tensor:
    """Do.

    Args:
        x: Some numbers.

    Returns:
        More numbers.
    """
    raise ValueError
'''
    found = list(problems(ast.parse(source).body[0]))
    assert found == [
        "no example that runs",
        "argument y is not described",
        "argument x has no shape",
        "what it returns has no shape",
        "its ValueError is not described",
    ]
