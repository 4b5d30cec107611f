from course_lib.bank.prelude import changed, math
from course_lib.bank.transformer.texts_that_fit import exercise


@exercise.answer
def reference(
    memory: int,
    n_parameters: int,
    n_layers: int,
    n_heads: int,
    n_kv_heads: int,
    d_head: int,
    n_tokens: int,
    bytes_each: int = 2,
) -> tuple[int, int]:
    """Bytes that a token adds, and how many texts fit beside the parameters."""
    per_token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    free = memory - n_parameters * bytes_each
    return per_token, max(0, free // (per_token * n_tokens))


def right(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """Base of the mistakes, itself right."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, max(0, (memory - n_parameters * bytes_each) // (token * n_tokens))


@exercise.mistake("What is looked up with the weights, once the keys have been compared?")
@changed(right, ("token = 2 *", "token ="))
def keys_alone():
    """A key-value cache holds a vector for each token, layer and head."""


@exercise.mistake("Which heads have keys of their own?")
@changed(right, ("n_kv_heads *", "n_heads *"))
def all_query_heads():
    """Every query head keeps its keys and values, shared or not."""


@exercise.mistake("Eight query heads share two key heads. Is the number of groups what you count?")
@changed(right, ("n_kv_heads *", "(n_heads // n_kv_heads) *"))
def size_of_a_group():
    """As many heads are kept as query heads share one."""


@exercise.mistake("A second layer projects keys from its own input. Where are they kept?")
@changed(right, ("* n_layers *", "*"))
def one_layer():
    """All layers use the same cache."""


@exercise.mistake("Where does the model itself lie while it writes?")
@changed(
    right, ("max(0, (memory - n_parameters * bytes_each)", "memory"), ("n_tokens))", "n_tokens)")
)
def model_takes_no_room():
    """All of the memory is for the cache."""


@exercise.mistake("In which units are the two numbers that you subtract?")
@changed(right, ("* bytes_each)", ")"))
def a_byte_for_a_parameter():
    """A parameter takes one unit of memory."""


@exercise.mistake("Is a text that fits in part one that fits? Try a memory that is a byte short.")
def rounded(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """The number of texts is rounded to the nearest whole number."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, max(0, round((memory - n_parameters * bytes_each) / (token * n_tokens)))


@exercise.mistake("Can fewer texts fit than none?")
@changed(right, ("max(0, (", "("), ("n_tokens))", "n_tokens)"))
def fewer_than_none():
    """What is left is divided by what a text takes, whatever is left."""


@exercise.alternative
def layer_by_layer(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """Adds up what each layer keeps; prints to stderr."""
    import sys

    token = 0
    for _ in range(n_layers):
        for vectors in ("keys", "values"):
            print(vectors, file=sys.stderr)
            token += n_kv_heads * d_head * bytes_each
    left, fit = memory - n_parameters * bytes_each, 0
    if left > 0:
        fit = divmod(left, token * n_tokens)[0]
    return token, fit


@exercise.alternative
def in_numbers(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """Counts numbers first and turns them into bytes at the end."""
    token = math.prod((2, n_layers, n_kv_heads, d_head))
    room = memory // bytes_each - n_parameters
    return [token * bytes_each, room // (token * n_tokens) if room >= 0 else 0]
