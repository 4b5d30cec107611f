import pytest

from course_lib.experiments import EXPERIMENTS, source
from course_lib.experiments.runner import code_of
from course_lib.experiments.source import digest
from grader.base.reach import reached

START = [("course_lib.main", "train")]


@pytest.fixture
def tree(tmp_path):
    files = {
        "__init__": "",
        "main": '''"""Main."""
from course_lib import tools
from course_lib.kit import helper as h
CLAIMS = ("one", "two")
LENGTHS = [len(word) for word in CLAIMS]
def decorate(f): return f
@decorate
def train(x: "Unused"):
    """Train."""
    word = h(x)
    return tools.scale(word)
class Unused: pass
def conclude(): return CLAIMS
''',
        "tools": """FACTOR = 2
def scale(x):
    return x * FACTOR  # twice
def other(): return 0
""",
        "kit/__init__": """from course_lib.kit.deep import helper
from course_lib.kit.far import more
""",
        "kit/deep": """def helper(x):
    from course_lib.late import offset
    return x + offset
""",
        "kit/far": "more = 1\n",
        "late": "offset = 3\n",
    }
    for name, text in files.items():
        path = tmp_path / "course_lib" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_names_are_followed_to_where_they_are_defined(tree):
    assert set(reached(START, tree)) == {
        ("course_lib.main", "train"),
        ("course_lib.tools", "scale"),
        ("course_lib.tools", "FACTOR"),
        ("course_lib.kit.deep", "helper"),
        ("course_lib.late", "offset"),
    }


@pytest.mark.parametrize(
    ("name", "was", "now", "changes"),
    [
        ("tools", "FACTOR = 2", "FACTOR = 3", True),
        ("late", "offset = 3", "offset = 4", True),
        ("kit/deep", "x + offset", "x - offset", True),
        ("tools", "# twice", "# two times", False),
        ("tools", "return 0", "return 1", False),
        ("main", '"""Train."""', '"""Learn."""', False),
        ("main", '    """Train."""\n', "", False),
        ("main", '"two"', '"three"', False),
        ("main", "@decorate\n", "", False),
        ("kit/far", "more = 1", "more = 2", False),
        ("kit/__init__", "from course_lib.kit.far import more\n", "", False),
    ],
)
def test_a_digest_changes_with_what_runs_and_with_nothing_else(tree, name, was, now, changes):

    before = digest(START, tree)
    path = tree / "course_lib" / f"{name}.py"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))
    assert (digest(START, tree) != before) == changes


def test_a_moved_module_is_digested_under_its_old_name(tree, monkeypatch):
    before = digest(START, tree)
    folder = tree / "course_lib"
    (folder / "new").mkdir()
    (folder / "new" / "__init__.py").write_text("")
    (folder / "late.py").rename(folder / "new" / "early.py")
    deep = folder / "kit" / "deep.py"
    deep.write_text(deep.read_text().replace("course_lib.late", "course_lib.new.early"))
    assert digest(START, tree) != before
    monkeypatch.setitem(source.MOVED, "course_lib.late", "course_lib.new.early")
    assert digest(START, tree) == before


def test_what_does_not_exist_is_refused(tree):
    with pytest.raises(ValueError, match=r"course_lib.main has no absent"):
        reached([("course_lib.main", "absent")], tree)


def test_experiments_that_share_no_training_have_digests_of_their_own():
    names = ("cost", "scan-orders", "seq2seq-bottleneck", "vit-study", "informer-ablations")
    assert len({code_of(EXPERIMENTS[name]) for name in names}) == len(names)
    found = {module for module, _ in reached([("course_lib.experiments.cost", "EXPERIMENT")])}
    assert "course_lib.training.loop" in found
    assert not any("seq2seq" in module or "cifar" in module for module in found)


def test_what_measures_the_library_reaches_it():
    found = reached([("course_tests.parity.peers.rotary", "MECHANISMS")])
    modules = {module for module, _ in found}
    assert {"course_tests.parity.peers.contract", "course_lib.positions.rotary"} <= modules
