from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="senses.search_scores",
    points=4,
    minutes=25,
    difficulty=2,
    chapter="19_costs.html#senses-costs",
    outcomes=("senses.costs",),
    example=lambda t: ("towers", 4, 9, 1, 1, 1, 2),
)


def sizes(t: Trial) -> tuple[int, int, int, int, int, int]:
    """Six numbers, all different enough that none passes for another."""
    return (
        t.integer(5, 9),
        t.integer(40, 60),
        t.integer(2, 4),
        t.integer(15, 19),
        t.integer(11, 14),
        t.integer(21, 25),
    )


@exercise.prop(1, "How often must an image be encoded if a hundred texts are compared with it?")
def towers(t: Trial) -> None:
    """two towers"""
    for _ in range(2):
        t.same("towers", *sizes(t))


@exercise.prop(1, "How long is the sequence, and how many pairs are there? Count whole blocks.")
def joint(t: Trial) -> None:
    """one encoder over both"""
    for _ in range(2):
        t.same("joint", *sizes(t))


@exercise.prop(
    1, "A block of the text has two attentions. At what does each look, and for how many pairs?"
)
def cross(t: Trial) -> None:
    """an image encoder, and words that look across"""
    for _ in range(2):
        t.same("cross", *sizes(t))


@exercise.prop(1, "Three parts. Which of them are done once per image, and which have layers?")
def slots(t: Trial) -> None:
    """an image encoder, slots that read it once, and one encoder over words and slots"""
    for _ in range(2):
        t.same("slots", *sizes(t))
