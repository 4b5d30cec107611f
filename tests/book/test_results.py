"""The results page says what the records say, and the architecture page what is there."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.book.results import ran
from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, load_record
from course_lib.experiments.reach import distance, extent

EXPERIMENT = EXPERIMENTS["seq2seq-bottleneck"]
ARMS = list(EXPERIMENT.arms)[:2]
KEPT = replace(
    load_record(SHIPPED_RESULTS / EXPERIMENT.name / "gru-cpu-0.json"),
    config={"epochs": 1},
    metrics=[{"epoch": 1, "exact": 0.5}],
    wall_seconds=90.0,
    device_seconds=180.0,
    hardware={"device": "cpu", "processor": "a processor", "threads": 2},
)


def record(arm, seed, results):
    return replace(KEPT, arm=arm, seed=seed, results=dict(results))


RECORDS = [
    record(ARMS[0], 0, {"exact": 0.5, "n_parameters": 1000, "by_length": {"3": 1.0, "4": 0.5}}),
    record(ARMS[0], 1, {"exact": 0.7, "n_parameters": 1000, "by_length": {"3": 0.5, "4": 0.5}}),
    record(ARMS[1], 0, {"exact": 0.9, "n_parameters": 2000, "by_length": {"3": 1.0, "4": 1.0}}),
]


def test_beside_a_result_stands_what_a_run_was_and_cost():
    assert ran(RECORDS[:2]) == (
        f"seq2seq-bottleneck {ARMS[0]}: 1,000 weights, 1 epochs, 2 runs of size cpu,"
        " 3 core-minutes each"
    )
    seen = replace(RECORDS[2], config={"epochs": 1, "n_train": 5000, "batch_size": 50})
    assert "2,000 weights, 5,000 examples, 1 epochs, 1 run" in ran([seen])


def test_a_run_that_stopped_early_is_not_said_to_have_had_all_epochs():
    folder = SHIPPED_RESULTS / "informer-ablations"
    day = [load_record(folder / f"vanilla-day-{seed}.json") for seed in range(3)]
    assert "4 to 5 of 6 epochs, tested as after 1 to 2, 267 steps each" in ran(day)
    full = load_record(folder / "vanilla-full-0.json")
    assert " 6 epochs, 267 steps each" in ran([full])
    # Where the settings don't tell how long a run was, no share of it is printed.
    what = EXPERIMENTS["informer-ablations"]
    small, own = (what.config("vanilla", size) for size in ("cpu", "day"))
    assert "steps" not in extent(own) and "steps" not in distance(small, own)
    assert "steps 25 %" in distance(small, what.config("vanilla", "full"))


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book/architecture.md").read_text("utf-8")
NAMES = sorted({*re.findall(r"`([A-Za-z_][\w.]*[\w])`", PAGE)} - {"CONTRIBUTING.md", "course.toml"})


def defined(node, name):
    """The names of all definitions in a module or a class, with its own name before them."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield f"{name}.{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from defined(child, f"{name}.{child.name}")


@pytest.fixture(scope="module")
def known():
    """Modules, classes, functions and methods of both packages, by their whole names."""
    names = set()
    for path in [p for top in ("course_lib", "grader") for p in (ROOT / top).rglob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        names |= {module, *defined(ast.parse(path.read_text("utf-8")), module)}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_every_name_on_the_page_is_there(name, known):
    assert any(f".{whole}".endswith(f".{name}") for whole in known)


REPORT = Path(__file__).parents[2] / "book" / "accessibility.md"
TERMS = {"Supports", "Partially supports", "Does not support", "Not applicable"}
# WCAG 2.2 has 31 criteria of level A and 24 of level AA.
COUNTS = {"A": 31, "AA": 24}


def test_each_criterion_has_one_term():
    seen = set()
    for level, many in COUNTS.items():
        part = REPORT.read_text().partition(f"## Level {level}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (\d\.\d\.\d+) [^|]+ \| ([^|]+) \|", part, re.M)
        numbers = [[int(n) for n in row[0].split(".")] for row in rows]
        assert len(rows) == many and numbers == sorted(numbers)
        assert {term for _, term in rows} <= TERMS
        assert not seen & {name for name, _ in rows}
        seen |= {name for name, _ in rows}


def test_what_was_tried_by_machine_only_says_so():
    assert "nobody has read it with a screen reader" in REPORT.read_text()
