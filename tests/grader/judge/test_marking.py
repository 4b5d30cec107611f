"""What one hand-in may cost the judge."""

import resource

import nbformat
import pytest

from grader.judge import marking, sandbox
from grader.judge.marking import Marker
from grader.judge.results import Task


def test_a_cap_holds_and_is_gone_afterwards():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with sandbox.capped(2**26):
        assert len(bytearray(2**24)) == 2**24
        with pytest.raises(MemoryError):
            bytearray(2**32)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(2**28)) == 2**28


def test_a_hand_in_that_takes_too_much_to_judge_is_told_so(root, forkserver, monkeypatch):
    """And is not tried again in every run: it is the hand-in, not the grader."""
    marker = Marker(root, "03_attention", "5eed")
    large = marker.assignment.solution.copy()
    large["cells"] = [nbformat.v4.new_markdown_cell("picture")]
    # In one piece, and larger than what this process may have freed and still holds mapped.
    content = nbformat.writes(large).encode().replace(b"picture", b"x" * 2**28)
    task = Task("ada", content, "", "key")
    monkeypatch.setattr(marking, "MOST_MEMORY", 2**25)
    verdict, files = marker.judge(task, forkserver, 0)
    assert verdict.score is None and verdict.key == "key"
    assert "takes more than 32 MiB of memory" in verdict.reason and "Clear" in files["feedback"]
