from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="masks.causal_mask",
    points=3,
    minutes=10,
    difficulty=2,
    chapter="05_masks.html#masks-causal",
    outcomes=("masks.build",),
    example=lambda t: (2, 5),
)


@exercise.prop(1, "Write the 3 x 3 table by hand: which row belongs to the first query?")
def square(t: Trial) -> None:
    """as many queries as keys: each sees itself and everything before"""
    for n in (1, 3, t.integer(4, 8)):
        t.same(n, note=f"T = {n}")
    t.same(4, 4, note="T = 4 and S = 4")


@exercise.prop(1, "At which position of the whole sequence is the first new query?")
def cached(t: Trial) -> None:
    """T new queries after S - T cached keys"""
    queries = t.integer(2, 4)
    for T, S in ((1, 5), (queries, queries + 1), (queries, queries + t.integer(2, 6))):
        t.same(T, S, note=f"T = {T} and S = {S}")


@exercise.prop(0.5, "Compare the last rows of your mask for (S, S) with your mask for (T, S).")
def in_steps(t: Trial) -> None:
    """decoding in steps sees what decoding at once sees"""
    total = t.integer(5, 8)
    whole = t.a_tensor(t.call(total, total), (total, total))
    visible = whole.sum(dim=-1).tolist()
    t.expect(
        visible == [*range(1, total + 1)],
        f"with {total} queries and keys the queries see {visible} keys",
    )
    for T in range(1, total):
        part = t.a_tensor(t.call(T, total), (T, total))
        t.close(part, whole[-T:], f"the mask of the last {T} of {total} queries")


@exercise.prop(
    0.5, "If the queries are the last of the positions, what would come before the first key?"
)
def too_few_keys(t: Trial) -> None:
    """more queries than keys raise a ValueError"""
    T = t.integer(3, 6)
    t.close(t.call(T, T), t.want(T, T), note=f"T = {T} and S = {T}", exact=True)
    for S in (T - 1, 0):
        t.raises(T, S, why=f"T = {T} and S = {S}")
