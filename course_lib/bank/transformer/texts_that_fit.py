from course_lib.bank.prelude import Exercise, Trial

GIB = 2**30


exercise = Exercise(
    id="transformer.texts_that_fit",
    points=3,
    minutes=10,
    difficulty=1,
    chapter="09_cache.html#transformer-cache-cost",
    outcomes=("transformer.cache",),
    example=lambda t: (24 * GIB, 3 * 10**9, 28, 24, 8, 128, 4096),
    returns=("the bytes of a token", "the number of texts"),
)


def sizes(t: Trial, grouped: bool = True) -> tuple[int, int, int, int]:
    """Layers, query heads, key heads and the width of a head."""
    n_kv_heads = t.integer(3, 6)
    n_heads = n_kv_heads * t.integer(2, 4) if grouped else n_kv_heads
    return t.integer(5, 40), n_heads, n_kv_heads, t.integer(20, 90)


def part(t: Trial, index: int, note: str, *args: int) -> None:
    """Compare one of the two numbers."""
    got, want = t.values(t.call(*args)), t.want(*args)
    t.close(got[index], want[index], exercise.returns[index], note=note)


@exercise.prop(0.5, "One token, one layer, one head: how many vectors are kept, of which width?")
def a_token(t: Trial) -> None:
    """what a token adds to the cache of one text, in multi-head attention"""
    note = "as many key heads as query heads"
    for layers in (1, t.integer(5, 40)):
        _, *rest = sizes(t, grouped=False)
        part(t, 0, note, 80 * GIB, 10**9, layers, *rest, t.integer(500, 5000))


@exercise.prop(0.5, "Which of queries, keys and values are needed again at the next token?")
def a_token_with_shared_keys(t: Trial) -> None:
    """the same with shared keys: in groups, and with a single key head"""
    layers, n_heads, n_kv_heads, d_head = sizes(t)
    rest = d_head, t.integer(500, 5000)
    note = f"{n_heads} query heads and"
    part(
        t, 0, f"{note} {n_kv_heads} key heads", 80 * GIB, 10**9, layers, n_heads, n_kv_heads, *rest
    )
    part(t, 0, f"{note} 1 key head", 80 * GIB, 10**9, layers, n_heads, 1, *rest)


@exercise.prop(0.5, "What does one text of n_tokens take? A text that fits in part does not fit.")
def texts(t: Trial) -> None:
    """how many texts fit, if there were no parameters"""
    layers, _, n_kv_heads, d_head = sizes(t)
    heads = n_kv_heads, n_kv_heads
    n_tokens, fit = t.integer(100, 900), t.integer(5, 30)
    # Counted with the answer's own bytes of a token: whether they are right is asked above.
    own = t.values(t.call(GIB, 0, layers, *heads, d_head, n_tokens))[0]
    t.expect(
        isinstance(own, int) and own > 0, f"{exercise.returns[0]} is {own!r}, expected a count"
    )
    text = own * n_tokens
    for memory, want in ((fit * text, fit), ((fit + 1) * text - 1, fit), (fit * text + 1, fit)):
        got = t.values(t.call(memory, 0, layers, *heads, d_head, n_tokens))[1]
        t.close(got, want, exercise.returns[1], note=f"{memory} bytes, {text} for a text")


@exercise.prop(0.5, "The memory holds the model, too. How many bytes does one parameter take?")
def parameters(t: Trial) -> None:
    """the parameters take their place first"""
    layers, _, n_kv_heads, d_head = sizes(t)
    rest = layers, n_kv_heads, n_kv_heads, d_head, t.integer(100, 900)
    n = 10**8 * t.integer(2, 9)
    # A memory without parameters holds as many texts as one that is larger by the parameters.
    alone = t.values(t.call(GIB, 0, *rest))[1]
    t.expect(isinstance(alone, int) and alone > 0, "no text fits where there is room")
    beside = t.values(t.call(GIB + 2 * n, n, *rest))[1]
    t.close(beside, alone, exercise.returns[1], note=f"{n:,} parameters, and 2 bytes more for each")


@exercise.prop(0.5, "Can fewer texts fit than none?")
def none_fits(t: Trial) -> None:
    """where the parameters alone are too large, no text fits"""
    rest = sizes(t)
    for n in (600 * 2**20, t.integer(2, 9) * 10**9):
        part(t, 1, f"{n:,} parameters in a GiB", GIB, n, *rest, 1000)
    layers, _, n_kv_heads, d_head = rest
    got = t.values(t.call(GIB, 2**29 - 5, layers, n_kv_heads, n_kv_heads, d_head, 100))[1]
    t.close(got, 0, exercise.returns[1], note="10 bytes left")


@exercise.prop(0.5, "Half precision takes 2 bytes, single precision 4, and 8-bit numbers 1.")
def precisions(t: Trial) -> None:
    """other precisions, for the cache and for the parameters"""
    layers, _, n_kv_heads, d_head = sizes(t)
    rest = layers, n_kv_heads, n_kv_heads, d_head, t.integer(100, 900)
    in_two, _ = t.values(t.call(80 * GIB, 10**9, *rest))
    for bytes_each in (1, 4):
        token, fit = t.values(t.call(80 * GIB, 10**9, *rest, bytes_each))
        note = f"{bytes_each} bytes each"
        t.expect(in_two, f"{exercise.returns[0]} is {in_two!r}")
        t.close(2 * token, bytes_each * in_two, f"twice {exercise.returns[0]}", note=note)
        # Twice the memory for numbers that are twice as long: as many texts.
        same = t.values(t.call(40 * bytes_each * GIB, 10**9, *rest, bytes_each))[1]
        want = t.values(t.call(80 * GIB, 10**9, *rest))[1]
        t.close(same, want, exercise.returns[1], note=f"{note}, in {40 * bytes_each} GiB")
        t.expect(fit != want, f"{note}: as many texts fit as with 2 bytes each")
