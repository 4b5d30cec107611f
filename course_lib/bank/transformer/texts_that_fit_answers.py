from course_lib.bank.prelude import math
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


@exercise.mistake("What is looked up with the weights, once the keys have been compared?")
def keys_alone(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """A key-value cache holds a vector for each token, layer and head."""
    token = n_layers * n_kv_heads * d_head * bytes_each
    return token, max(0, (memory - n_parameters * bytes_each) // (token * n_tokens))


@exercise.mistake("Which heads have keys of their own?")
def all_query_heads(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """Every query head keeps its keys and values, shared or not."""
    token = 2 * n_layers * n_heads * d_head * bytes_each
    return token, max(0, (memory - n_parameters * bytes_each) // (token * n_tokens))


@exercise.mistake("Eight query heads share two key heads. Is the number of groups what you count?")
def size_of_a_group(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """As many heads are kept as query heads share one."""
    token = 2 * n_layers * (n_heads // n_kv_heads) * d_head * bytes_each
    return token, max(0, (memory - n_parameters * bytes_each) // (token * n_tokens))


@exercise.mistake("A second layer projects keys from its own input. Where are they kept?")
def one_layer(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """All layers use the same cache."""
    token = 2 * n_kv_heads * d_head * bytes_each
    return token, max(0, (memory - n_parameters * bytes_each) // (token * n_tokens))


@exercise.mistake("Where does the model itself lie while it writes?")
def model_takes_no_room(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """All of the memory is for the cache."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, memory // (token * n_tokens)


@exercise.mistake("You subtract a number of parameters from a number of bytes.")
def a_byte_for_a_parameter(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """A parameter takes one unit of memory."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, max(0, (memory - n_parameters) // (token * n_tokens))


@exercise.mistake("Is a text that fits in part one that fits? Try a memory that is a byte short.")
def rounded(memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2):
    """The number of texts is rounded to the nearest whole number."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, max(0, round((memory - n_parameters * bytes_each) / (token * n_tokens)))


@exercise.mistake("Can fewer texts fit than none?")
def fewer_than_none(
    memory, n_parameters, n_layers, n_heads, n_kv_heads, d_head, n_tokens, bytes_each=2
):
    """What is left is divided by what a text takes, whatever is left."""
    token = 2 * n_layers * n_kv_heads * d_head * bytes_each
    return token, (memory - n_parameters * bytes_each) // (token * n_tokens)


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
