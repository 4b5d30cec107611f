"""Drawings of the course itself: which process grades, and what passes between processes."""

from collections.abc import Sequence

from course_lib.drawings import Page, Part, Sketch, drawing


@drawing(
    """Three places. In the instructor's process, course grade hands a hand-in to a judge and
    writes the verdict it gets into the gradebook. A judge, one for each core, holds references,
    properties and hints and runs no line of a student's. Behind walls, without network and with a
    file system of their own, are the warm parent, which has imported torch once, and a worker,
    forked from it for one hand-in, which holds the student's cells and nothing to look up.
    Arguments go from the judge to the worker, values come back, as plain data."""
)
def processes_of_a_grade(s: Sketch) -> None:
    p = Page(s)

    def pair(first: Sequence[str], second: Sequence[str], role: str) -> list[Part]:
        """Two boxes, side by side on a phone, else one above another."""
        return [p.layer(*words, w=132, role=role) for words in (first, second)]

    grade, book = pair(["course grade"], ["gradebook"], "state")
    properties, references = pair(["properties,", "hints"], ["references"], "step")
    parent, worker = pair(["warm parent:", "has torch"], ["worker:", "student's cells"], "query")
    p.link(grade, properties, label="hand-in")
    p.link(references, book, label="verdict, page", side=p.of("", "left"))
    p.link(properties, parent, label="a worker, please", side=p.of("", "left"))
    p.link(parent, worker, label="fork")
    names = "instructor", "judge" if s.narrow else "judge, one a core", "behind walls"
    pairs = (grade, book), (properties, references), (parent, worker)
    stacks = [p.stack(*parts, gap=p.of(46, 28)) for parts in pairs]
    p.done(
        *(
            p.panel(stack, name, w=p.of(0, s.width))
            for name, stack in zip(names, stacks, strict=True)
        ),
        gap=p.of(82, 44),
    )
    a, b, aside = references.box, worker.box, 10
    if s.narrow:
        s.arrow((a.cx - aside, a.bottom), (a.cx - aside, b.y), label="arguments", side="left")
        s.arrow((a.cx + aside, b.y), (a.cx + aside, a.bottom), label="values")
    else:
        s.arrow((a.right, a.cy - aside), (b.x, a.cy - aside), label="arguments")
        s.arrow((b.x, a.cy + aside), (a.right, a.cy + aside), label="values", side="below")
