"""Where collecting leaves a notebook."""

from grader import authoring


def hand_in(course, student, notebook, name="03_attention"):
    """Put a notebook, a text or bytes in a student's folder; where it lies."""
    path = course / "submitted" / student / name / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = notebook if isinstance(notebook, bytes | str) else authoring.text(notebook)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
