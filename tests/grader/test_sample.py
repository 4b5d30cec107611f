"""The made-up class: what its folder loses when an assignment has other cells, and what stays."""

from grader import sample


def test_a_folder_of_other_cells_is_emptied_under_no_grader(tmp_path, assignment):
    """A warm parent imports from ``.kits`` while the class is made."""
    for name in (".kits/kit/module.py", "submitted/old/essay/essay.ipynb", "gradebook.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    students = sample.make(tmp_path, assignment, lambda student: student == "ada-full")
    assert (tmp_path / ".kits/kit/module.py").exists() and not (tmp_path / "gradebook.db").exists()
    assert [p.name for p in (tmp_path / "submitted").iterdir()] == students == ["ada-full"]
