"""What a suite lets through and refuses comes out by name, whatever the suite does."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.errors import Refused
from course_tests.judge_tests import problems, report, suites, tutor

TORCH_JUDGE = Path(suites.__file__).with_name("torch_judge.toml")
ADAPTER = """
[attention]
module = "homework.model"
name = "attend"
tests = ["test_attention"]
probe = '''
def probe(attend):
    yield attend(torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 6), None)
'''
[[attention.adapters]]
exercise = "attention.scaled_dot_product"
code = '''
def attend(query, key, value, hidden):
    return answer(query, key, value, None if hidden is None else ~hidden)[0]
'''
[mask]
module = "homework.model"
name = "causal_mask"
tests = ["test_mask"]
[[mask.adapters]]
exercise = "masks.causal_mask"
"""
# Values and queries are of one width, and a warning is an error.
WEAK = """
import warnings
import torch
from homework.model import attend, causal_mask

def test_attention():
    warnings.simplefilter("error")
    q, k, v = torch.randn(3, 2, 4, 8, generator=torch.Generator().manual_seed(0))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(attend(q, k, v, None), want, atol=1e-5), "other numbers"

def test_mask():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
"""


@pytest.fixture(scope="module")
def root():
    return Path(__file__).parents[2]


@pytest.fixture
def judged(tmp_path, root):
    """The report of a suite of one file, as data."""

    def judge(problem, answer):
        (tmp_path / "test_homework.py").write_text(WEAK)
        (tmp_path / "adapter.toml").write_text(ADAPTER)
        place = tmp_path / "test_homework.py"
        suite = suites.Pytest(place, tmp_path / "adapter.toml", 120, root)
        data, *_ = report.judge(suite, root, problem, answer, lambda line: None)
        return data["problems"][0]

    return judge


def test_a_mistake_that_passes_and_a_right_answer_that_is_refused_are_named(judged):
    of = "(attention.scaled_dot_product)"
    passing = judged("attention", "scaled_by_value_width")["passing"]
    assert passing == [f"scaled_by_value_width {of}"]
    assert judged("attention", "double_inside")["refused"] == {
        f"double_inside {of}": ["test_attention"]
    }
    assert judged("attention", "unscaled")["caught"] == {f"unscaled {of}": ["test_attention"]}


def test_a_mistake_that_the_probe_cannot_tell_from_a_right_answer_is_left_out(judged):
    row = judged("attention", "model")
    assert "inverted_mask (attention.scaled_dot_product)" in row["left_out"]
    assert row["right"] == 1
    assert not row["refused"]


def test_without_a_probe_the_bank_says_what_is_wrong(judged):
    # Asked for one length only, the mask of a cache may be anything.
    assert judged("mask", "top_left")["passing"] == ["top_left (masks.causal_mask)"]
    assert "one_ahead (masks.causal_mask)" in judged("mask", "one_ahead")["caught"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("while True: pass", "not done after"),
        ("import os; os._exit(0)", "ended with 0 and no report"),
        ("import sys; sys.exit(0)", ""),
        ("print('<testsuite>' * 9999)", "no tests ran"),
        ("import pytest; pytest.skip(allow_module_level=True)", "no tests ran"),
    ],
)
def test_a_suite_that_comes_to_no_verdict_lets_nothing_through(body, fault, tmp_path, root):
    (tmp_path / "test_homework.py").write_text(body)
    (tmp_path / "adapter.toml").write_text(ADAPTER.replace('tests = ["test_attention"]', ""))
    place = tmp_path / "test_homework.py"
    seconds = 5 if "while" in body else 120
    suite = suites.Pytest(place, tmp_path / "adapter.toml", seconds, root)
    verdicts = suite.judge("attention", suite.models["attention"])
    assert any(verdict.fault and fault in verdict.fault for verdict in verdicts)


def test_a_package_of_tests_finds_the_answer_beside_itself(tmp_path, root):
    """As Stanford's CS336 has them: an adapters module to fill, and files beside the tests."""
    package = tmp_path / "tests"
    package.mkdir()
    for name, text in {
        "__init__.py": "",
        "adapters.py": "def attend(*given):\n    raise NotImplementedError\n",
        "wanted.txt": "5",
        "test_model.py": """
from pathlib import Path
import torch
from .adapters import attend
def test_attention():
    keys = int(Path("tests/wanted.txt").read_text())
    q, k, v = (torch.randn(n, 4) for n in (3, keys, keys))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(attend(q, k, v, None), want, atol=1e-5)
""",
    }.items():
        (package / name).write_text(text)
    text = ADAPTER.replace("homework.model", "tests.adapters")
    text = text.replace('"test_attention"', '"test_model.py::test_attention"')
    (tmp_path / "adapter.toml").write_text(text)
    suite = suites.Pytest(package, tmp_path / "adapter.toml", 120, root)
    (verdict,) = suite.judge("attention", suite.models["attention"])
    assert (verdict.test, verdict.fault) == ("test_attention", "")
    assert "NotImplementedError" in (package / "adapters.py").read_text()


def test_a_run_of_its_own_ends_whatever_is_run():
    def forever():
        while True:
            pass

    def leaves():
        raise SystemExit(0)

    def dies():
        import os

        os._exit(0)

    assert problems.forked(lambda: 3, 30) == (3, "")
    assert problems.forked(leaves, 30) == (None, "SystemExit: 0")
    assert problems.forked(dies, 30) == (None, "ended its process")
    assert problems.forked(forever, 1) == (None, "not done after 1 s")


@pytest.mark.parametrize("key", problems.read(TORCH_JUDGE))
def test_right_answers_agree_behind_each_adapter_and_own_ones_are_wrong(key, root):
    problem = problems.read(TORCH_JUDGE)[key]
    found, left_out = problems.candidates(problem, root)
    for number, adapter in enumerate(problem.adapters):
        right = [one for one in found if one.graded == adapter.exercise and one.right]
        want = problems.outputs(problem, right[0])
        assert all(problems.agree(problems.outputs(problem, one), want) for one in right)
        assert right
        first = problems.outputs(problem, found[0])
        assert problems.agree(want, first), f"adapter {number} is another task"
    assert not [title for title in left_out if title.endswith("(of the adapter)")]
    assert {one.name for one in found if not one.right} & set(problem.wrong) == set(problem.wrong)
    assert not {one.name for one in found} & set(problem.open)
    assert any(not one.right for one in found)


def test_no_wrong_answer_of_an_adapter_passes_our_checks(root):
    suite = suites.Ours(None, 60)
    for key, problem in suite.problems.items():
        for one in problems.candidates(problem, root)[0] if problem.wrong else ():
            if one.name in problem.wrong or one.name == "model":
                passes = not any(verdict.fault for verdict in suite.judge(key, one))
                assert passes == one.right, one.title


@pytest.mark.slow
def test_no_wrong_answer_passes_our_checks_and_no_right_one_is_refused(root):
    data, _, wrong = report.judge(suites.Ours(None, 60), root, "", "", lambda line: None)
    assert len(data["problems"]) >= 8
    assert not wrong


def test_the_identity_passes_the_rotary_tests_of_torch_judge(root, missing):
    if importlib.util.find_spec("torch_judge") is None:
        missing("torch-judge is not installed")
    suite = suites.TorchJudge("", None, 60)
    data, lines, wrong = report.judge(suite, root, "rope", "identity", lambda line: None)
    assert wrong
    assert data["problems"][0]["passing"] == ["identity (of the adapter)"]
    assert len(lines) == 2 + len(suite.tasks["rope"]["tests"])


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of tasks in the form of torch-judge's, of one problem."""
    tests = [
        {"name": "shape", "code": "import torch\nx = torch.ones(2, 3, 4)\n"
         "assert {fn}(x, x)[0].shape == x.shape"},
        {"name": "leaves", "code": "print('passed')\nraise SystemExit(0)"},
    ]  # fmt: skip
    task = {"function_name": "apply_rope", "tests": tests}
    (tmp_path / "torch_judge").mkdir()
    (tmp_path / "torch_judge" / "__init__.py").touch()
    (tmp_path / "torch_judge" / "tasks.py").write_text(f"TASKS = {{'rope': {task!r}}}")
    for name in ("torch_judge", "torch_judge.tasks"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("torch_judge", "torch_judge.tasks"):
        sys.modules.pop(name, None)


def test_one_command_shows_the_verdict_of_each_test(package, capsys):
    command = ["judge-tests", "torch-judge", "--where", str(package), "--problem", "rope"]
    assert main([*command, "--answer", "identity"]) == 0
    shown = capsys.readouterr().out
    assert "identity (of the adapter), a wrong answer: is refused" in shown
    assert "shape: ok" in shown
    assert "leaves: SystemExit: 0" in shown
    assert main([*command, "--answer", "nobody"]) == 2
    assert main([*command, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["problems"][0]["refused"]) >= 2


@pytest.mark.parametrize(
    "wrong",
    [[], ["ours", "--tutor", "x"], ["no-such-folder"], ["--tutor", "x"], ["ours", "--problem", "y"],
     ["ours", "--problem", "rope", "--record"], ["--tutor", "x", "--ask", "0"]],
)  # fmt: skip
def test_what_cannot_be_carried_out_is_refused(wrong):
    assert main(["judge-tests", *wrong]) == 2


def test_a_tutor_is_scored_against_the_names(tmp_path):
    asked, said = tmp_path / "asked.md", tmp_path / "said.txt"
    assert main(["judge-tests", "--tutor", str(asked), "--ask", "5", "--seed", "7"]) == 0
    truth = tutor.drawn(5, 7)
    text = asked.read_text()
    for exercise, mistake in truth:
        assert mistake.source in text
        assert f"def {mistake.name}(" not in mistake.source
        assert all(other.name in text for other in exercise.mistakes)
    other = next(m.name for m in truth[1][0].mistakes if m.name != truth[1][1].name)
    said.write_text(f"1: {truth[0][1].name}\nI think:\n2. `{other}`\n**3**: no_such_name\n"
                    f"- 4) {truth[3][1].name}\n")  # fmt: skip
    score, lines = tutor.score(asked, said)
    assert score[:4] == (2, 1, 1, 1)
    assert score.chance == pytest.approx(sum(1 / len(e.mistakes) for e, _ in truth))
    assert f"it is {truth[4][1].name}" in lines[4]
    said.write_text("1: a\n1: b\n")
    with pytest.raises(Refused, match="twice"):
        tutor.score(asked, said)
    with pytest.raises(Refused, match="does not begin"):
        tutor.score(said, said)
