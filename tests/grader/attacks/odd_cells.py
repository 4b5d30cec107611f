"""What stands in an odd but honest notebook, by name: own cells, and last the cell of an answer.

``@`` is the usual answer, ``NAME`` its function. What is not there while work is graded, or ends
the cell in a kernel too, costs the answer: these are in ``LOST``.
"""

from . import read

CELLS: dict[str, tuple[str, ...]] = {}
for _head, _text in read("odd_cells.txt"):
    # The next cell of a notebook has ``+`` in the place of a name.
    _name = [*CELLS][-1] if _head == "+" else _head
    CELLS[_name] = (*CELLS.get(_name, ()), _text)
# Where a given cell has assigned to `_` it stays the notebook's own, as in every kernel: the first
# exercise comes before that. What comes after the answer instead of last.
BELOW = ("helper-below",)
LOST = frozenset(
    "reads-data cell-magic-mistyped timed-away python-cell einops-inside network own-loop"
    " sys-exit asks-and-needs strict-warnings helper-below not-python"
    " processes-together".split()
)
# What `make test` runs of it: a notebook of each line.
QUICK = (
    ("last-result", "writes-a-file", "double", "colab", "below-a-comment"),
    ("fork-goes-on", "helper-below", "module-beside", "optimizer", "mistyped"),
)
