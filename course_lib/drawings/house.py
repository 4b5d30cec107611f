"""How the course itself works: which process grades, and what passes between processes."""

from course_lib.drawings import Box, Sketch, drawing


@drawing(
    """Three places. In the instructor's process, course grade hands a hand-in to a judge and
    writes the verdict it gets into the gradebook. A judge, one for each core, holds references,
    properties and hints and runs no line of a student's. Behind walls, without network and with a
    file system of their own, stand the warm parent, which has imported torch once, and a worker,
    forked from it for one hand-in, which holds the student's cells and nothing to look up.
    Arguments go from the judge to the worker, values come back, as plain data."""
)
def processes_of_a_grade(s: Sketch) -> None:
    """Who runs what while a hand-in is graded."""
    w, h = (128, 40) if s.narrow else (136, 44)

    def pair(x: float, y: float, said: str, first: str, second: str, role: str) -> list[Box]:
        """A process as a panel with two boxes, side by side on a phone, else one above another."""
        if s.narrow:
            s.panel(x, y, s.width, 92, said)
            places = [(x + 86, y + 56), (x + s.width - 86, y + 56)]
        else:
            s.panel(x, y, 172, 196, said)
            places = [(x + 86, y + 64), (x + 86, y + 152)]
        return [
            s.layer(px, py, w, h, *words.split("|"), role=role)
            for (px, py), words in zip(places, (first, second), strict=True)
        ]

    step = (0.0, 142.0) if s.narrow else (248.0, 0.0)
    grade, book = pair(0, 0, "instructor", "course grade", "gradebook", "state")
    told, asked = pair(
        *step,
        "judge" if s.narrow else "judge, one a core",
        "properties,|hints",
        "references",
        "step",
    )
    parent, worker = pair(
        2 * step[0],
        2 * step[1],
        "behind walls",
        "warm parent:|has torch",
        "worker:|student's cells",
        "query",
    )
    if s.narrow:
        # Right of the panels' names.
        down = grade.cx + 26
        s.arrow((down, grade.bottom), (down, told.y), label="hand-in")
        s.flow(asked, book, label="verdict, page", side="left")
        s.arrow((down, told.bottom), (down, parent.y), label="a worker, please", side="left")
        left, right = asked.cx - 12, asked.cx + 12
        s.arrow((left, asked.bottom), (left, worker.y), label="arguments", side="left")
        s.arrow((right, worker.y), (right, asked.bottom), label="values")
        s.flow(parent, worker, label="fork")
        return
    s.flow(grade, told, label="hand-in")
    s.flow(asked, book, label="verdict, page")
    s.flow(told, parent, label="a worker, please")
    s.arrow((asked.right, asked.cy - 9), (worker.x, worker.cy - 9), label="arguments")
    s.arrow((worker.x, worker.cy + 9), (asked.right, asked.cy + 9), label="values", side="below")
    s.flow(parent, worker, label="fork")
