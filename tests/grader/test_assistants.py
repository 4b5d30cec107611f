"""The rule for language models: one line decides, words change, cells that are graded do not."""

import json

import pytest
from traitlets.config import Config

from course_lib.cli import main
from grader import assistants, authoring
from grader.base.errors import Refused
from grader.student import recording

NAME = "03_attention"


@pytest.fixture
def ruled(checkout, root, tmp_path):
    (tmp_path / "solutions").symlink_to(root / "solutions")
    (tmp_path / "pyproject.toml").symlink_to(root / "pyproject.toml")
    config = (root / "nbgrader_config.py").read_text()
    assert config.count('c.LanguageModels.rule = "tutor"\n') == 1, "the one place"

    def load(line):
        text = config.replace('c.LanguageModels.rule = "tutor"\n', line)
        (tmp_path / "nbgrader_config.py").write_text(text)
        return authoring.load(tmp_path / f"solutions/{NAME}/{NAME}.md", tmp_path)

    return load


def test_the_rule_changes_words_and_no_cell_that_is_graded(ruled, root):
    made = {rule: ruled(f'c.LanguageModels.rule = "{rule}"\n') for rule in assistants.SENTENCES}
    assert set(made) == {"none", "tutor", "free"}
    for rule, assignment in made.items():
        head, *others = assignment.release.cells
        assert head.source.endswith(assistants.SENTENCES[rule]) and "nbgrader" not in head.metadata
        # Ids, checksums, points and sources of everything else.
        assert others == made["tutor"].release.cells[1:]
        assert head.id == made["tutor"].release.cells[0].id
        assert assistants.GUIDES[rule] in assignment.files()["AGENTS.md"]
    assert len({a.release.cells[0].source for a in made.values()}) == 3
    default = ruled("")
    assert default.release == made["tutor"].release and default.files() == made["tutor"].files()


def test_only_a_tutor_is_told_hints_and_all_of_them(ruled):
    texts = {
        rule: ruled(f'c.LanguageModels.rule = "{rule}"\n').files()["AGENTS.md"]
        for rule in assistants.SENTENCES
    }
    for exercise in ruled("").exercises:
        hints = [one.hint for one in (*exercise.properties, *exercise.mistakes) if one.hint]
        assert len(hints) > 5
        for hint in hints:
            assert hint in texts["tutor"]
            assert hint not in texts["none"] and hint not in texts["free"]


@pytest.mark.parametrize("wrong", ['"some"', "True", "['none']"])
def test_another_rule_is_refused_by_name(ruled, wrong):
    with pytest.raises(Refused, match=r"c\.LanguageModels\.rule is .*wanted one of none, tutor"):
        ruled(f"c.LanguageModels.rule = {wrong}\n")


def test_every_assistant_finds_its_way_to_the_one_text():
    texts = assistants.files("tutor", "Assignment 3")
    assert [*texts] == ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"]
    assert "\n@AGENTS.md\n" in texts["CLAUDE.md"], "a line of its own is read as the file"
    assert all("AGENTS.md" in text for text in texts.values())
    assert assistants.rule(Config()) == "tutor"


def test_a_handout_tells_it_in_its_root_and_beside_each_notebook(
    root, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(root)
    monkeypatch.setattr(recording, "recorded_once", lambda *asked: {})
    folder = tmp_path / "course"
    assert main(["handout", str(folder), "03", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"]
    inner = authoring.load(root / f"solutions/{NAME}/{NAME}.md", root).files()
    outer = assistants.files("tutor", "The exercises of the course")
    for file in outer:
        assert (folder / file).read_text("utf-8") == outer[file]
        assert (folder / "exercises" / NAME / file).read_text("utf-8") == inner[file]
    assert "beside each notebook" in outer["AGENTS.md"]
