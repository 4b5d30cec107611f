"""Every verdict of the ledger is shown by code, and would be refuted were it negated."""

import ast
import functools
import inspect
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch
from transformers import get_cosine_schedule_with_warmup

from course_lib.claims import Claim, contradiction, load_claims, shown
from course_lib.claims.ledger import VERDICTS, asserts
from course_lib.claims.recipe import guide_rate
from course_lib.experiments import settled
from course_lib.experiments.reach import FAR
from course_tests.refusals import refusals

ROOT = Path(__file__).parents[2]
CLAIMS = load_claims(ROOT / "book" / "claims.yml")
LABELLED = re.compile(r"((?:\{claim\}`[^`]+`(?:,? and |, )?)+) \(holds?\b")
CHECKED = [claim for claim in CLAIMS if claim.show or claim.decided]
SHOWN = [claim for claim in CHECKED if claim.show]
# What each verdict denies; a claim that is negated must no longer fit what the code finds.
DENIALS = {
    "holds": ["wrong", "with correction", "contested"],
    "with correction": ["holds", "contested"],
    "wrong": ["holds", "with correction", "contested"],
    "contested": ["holds", "wrong", "with correction"],
}


@functools.cache
def first(identifier):
    return shown(next(claim for claim in CHECKED if claim.id == identifier))


@pytest.mark.parametrize("claim", CHECKED, ids=lambda claim: claim.id)
def test_the_verdict_stands_and_its_negation_does_not(claim):
    finding = first(claim.id)
    assert contradiction(claim, finding) is None
    for verdict in DENIALS.get(claim.verdict, ()):
        denial = replace(claim, verdict=verdict, note="denied")
        assert contradiction(denial, finding) is not None, verdict


@pytest.mark.parametrize("claim", SHOWN, ids=lambda claim: claim.id)
def test_a_finding_comes_from_numbers(claim):
    """A function that returned a constant could not fail, whatever the code does."""
    module, _, name = claim.show.rpartition(".")
    function = getattr(import_module(f"course_lib.claims.{module}"), name)
    assert function.__module__ == f"course_lib.claims.{module}" and not name.startswith("_")
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(function)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding"
    ]
    assert calls
    for call in calls:
        for keyword in call.keywords:
            assert not isinstance(keyword.value, ast.Constant), f"{keyword.arg} is a constant"


# A run that differs from itself shows in the verdict, too, sooner or later: here a few are enough.
@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, id=claim.id, marks=() if n % 8 == 0 else pytest.mark.slow)
        for n, claim in enumerate(CHECKED)
    ],
)
def test_a_finding_is_the_same_at_every_run(claim):
    assert shown(claim) == first(claim.id)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.cell], ids=lambda claim: claim.id)
def test_a_page_asserts_its_claims(claim):
    page = ROOT / "book" / f"{claim.cell}.md"
    assert asserts(claim, page.read_text(encoding="utf-8"))


def test_tags_of_claims_are_those_of_the_ledger():
    named = {f"{c.cell} claim-{c.id}" for c in CLAIMS if c.cell}
    found = {
        f"{folder}/{path.stem} {tag}"
        for folder in ("chapters", "lab")
        for path in (ROOT / "book" / folder).glob("*.md")
        for line in re.findall(r"(?m)^:?tags: .*", path.read_text(encoding="utf-8"))
        for tag in re.findall(r"claim-\w+", line)
    }
    assert named == found


def test_every_function_is_used_by_a_claim():
    used = {claim.show for claim in CLAIMS}
    for path in (ROOT / "course_lib" / "claims").glob("*.py"):
        if path.stem in ("__init__", "finding", "ledger"):
            continue
        module = import_module(f"course_lib.claims.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            # `guide_rate` shows nothing: a claim's function has no arguments.
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and not inspect.signature(function).parameters:
                assert f"{path.stem}.{name}" in used


def entry(**changes):
    base = {"id": "0", "document": "lecture", "claim": "c", "verdict": "holds", "chapter": 1}
    return Claim(**{**base, "show": "cost.attention_is_quadratic", **changes})


test_an_entry_that_could_not_be_shown_is_refused = refusals(
    ({"document": "a blog"}, "document 'a blog'"),
    ({"verdict": "true"}, "verdict 'true'"),
    ({"show": ""}, "expected a function"),
    ({"decided": ["norm-depth/deep"]}, "expected a function"),
    ({"cell": "chapters/03_attention"}, "expected a function"),
    ({"verdict": "wrong"}, "expected a note"),
    ({"verdict": "measured here", "note": "n"}, "expected the conclusions"),
    ({"chapter": "1"}, "chapter is '1': input should be a valid integer"),
    by=entry,
)


def test_a_function_that_does_not_exist_is_named():
    for show in ("cost.nothing", "nowhere.nothing"):
        with pytest.raises(ValueError, match=f"claim 0: no function course_lib.claims.{show}"):
            shown(entry(show=show))


def test_a_conclusion_that_does_not_exist_is_named():
    missing = ("norm-depth/nothing", "nowhere/nothing", "norm-depth@night/deep")
    for one, said in zip(missing, ("nothing", "nowhere", "night"), strict=True):
        measured = {"verdict": "measured here", "note": "n"}
        with pytest.raises((KeyError, ValueError), match=said):
            shown(entry(show="", decided=[one], **measured))


def test_ids_and_keys_are_checked(tmp_path):
    path = tmp_path / "claims.yml"
    line = "- {id: 1, document: lecture, claim: c, verdict: holds, chapter: 1, show: a.b}\n"
    path.write_text(line + line)
    with pytest.raises(ValueError, match=r"\['1'\] come more than once"):
        load_claims(path)
    path.write_text("- {id: 1, verdikt: holds}\n")
    with pytest.raises(ValueError, match=r"claims\.yml, claim 1: .*verdikt is unknown"):
        load_claims(path)


def test_what_a_small_run_alone_has_seen_is_marked():
    """The records say how far each entry reaches; nothing that was seen small holds or fails."""
    for claim in CLAIMS:
        if claim.verdict == "measured here":
            named = [settled(*one.split("/", 1)) for one in claim.decided]
            finding = first(claim.id)
            small = any(one.reach not in FAR for one in named)
            marks = (
                "not tested at the document's size",
                "by one size alone",
                "neither shown to be trained to the end",
                "with too few pairs at the document's setting",
                "at two lengths of training",
                "but for the attention",
            )
            assert any(mark in finding.told for mark in marks) == small == (not finding.far)
            assert finding.holds is None or not small
            assert not (small and finding.told.startswith(("holds", "fails")))


def test_a_page_says_holds_of_what_holds():
    measured = {str(c.id): first(c.id) for c in CLAIMS if c.verdict == "measured here"}
    small = {name for name, finding in measured.items() if finding and not finding.holds}
    for page in (ROOT / "book/chapters").glob("*.md"):
        for named in LABELLED.findall(page.read_text(encoding="utf-8")):
            assert not small & set(re.findall("`(.+?)`", named)), (page.stem, named)


def test_all_verdicts_are_known_to_the_denials():
    assert set(DENIALS) | {"measured here", "not checkable"} == set(VERDICTS)


def test_the_guides_schedule_is_that_of_its_library():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = get_cosine_schedule_with_warmup(optimizer, 7, 40)
    for step in range(40):
        assert schedule.get_last_lr()[0] == pytest.approx(guide_rate(step, 7, 40))
        optimizer.step()
        schedule.step()
