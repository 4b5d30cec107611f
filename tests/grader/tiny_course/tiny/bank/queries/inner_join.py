from grader.checks.exercise import Exercise
from grader.checks.trial import Trial

exercise = Exercise(
    id="queries.inner_join",
    points=4,
    minutes=10,
    difficulty=2,
    chapter="queries.html",
    example=lambda t: ([("ada", 1), ("ben", 2)], [("ada", 3), ("cleo", 4), ("ada", 5)]),
)


def rows(t: Trial, keys: str) -> list[tuple[str, int]]:
    """A table with these keys and drawn values."""
    return [(key, t.integer(0, 99)) for key in keys]


@exercise.prop(1, "What has to be equal for two rows to belong together?")
def pairs(t: Trial) -> None:
    """rows with the same key are paired, with the values of both"""
    t.same(rows(t, "abc"), rows(t, "abc"))


@exercise.prop(1, "How many rows of the right table may have one key?")
def several(t: Trial) -> None:
    """a row is paired with every row of its key"""
    t.same(rows(t, "ab"), rows(t, "aabb"))


@exercise.prop(1, "What does an inner join do with a row that nothing belongs to?")
def alone(t: Trial) -> None:
    """a row without a partner is left out"""
    t.same(rows(t, "abc"), rows(t, "cda"))


@exercise.prop(1, "Which table decides about the order?")
def order(t: Trial) -> None:
    """rows keep the order of the left table, and then of the right one"""
    t.same(rows(t, "ba"), rows(t, "aabb"))
