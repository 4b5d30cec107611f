from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="masks.window_mask",
    points=2.5,
    minutes=10,
    difficulty=2,
    chapter="05_masks.html#masks-window",
    outcomes=("masks.build",),
    example=lambda t: (6, 2),
)


@exercise.prop(1, "Count the keys of a query in the middle, and of the very first one.")
def both_sides(t: Trial) -> None:
    """each position sees itself and `radius` neighbours on each side"""
    for radius in (1, 2, 3):
        T = 2 * radius + t.integer(3, 6)
        t.same(T, radius, note=f"T = {T}, radius = {radius}")


@exercise.prop(1, "How far back does a query look with causal=False? Does causal=True change that?")
def causal(t: Trial) -> None:
    """a causal window keeps the position itself and the half that lies in the past"""
    for radius in (1, 2, 3):
        T = 2 * radius + t.integer(3, 6)
        t.same(T, radius, True, note=f"T = {T}, radius = {radius}, causal")


@exercise.prop(0.5, "Try radius = 0 and radius = T by hand.")
def ends(t: Trial) -> None:
    """radius 0 is the diagonal, and a radius beyond the ends hides nothing"""
    T = t.integer(4, 7)
    for radius in (0, T - 1, T + 3):
        t.same(T, radius, note=f"T = {T}, radius = {radius}", exact=True)
    t.same(T, T + 1, True, note=f"T = {T}, radius = {T + 1}, causal")
