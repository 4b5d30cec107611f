from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.relative.distance_scores import exercise
from course_lib.positions import relative_shift


@exercise.answer
def reference(q: Tensor, table: Tensor) -> Tensor:
    """Each query meets each distance once; rows are then shifted into place."""
    return relative_shift(q @ table.mT)


@exercise.mistake("How many numbers does your largest tensor have, and how many rows differ?")
def vector_for_each_pair(q, table):
    """Scores of pairs need a vector for each pair."""
    T = q.shape[-2]
    places = torch.arange(T)
    vectors = table[places[None, :] - places[:, None] + T - 1]
    return (q.unsqueeze(-2) * vectors).sum(-1)


@exercise.mistake("Which row of the table belongs to a key that comes *before* its query?")
def query_minus_key(q, table):
    """The distance is the query's position less the key's."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = places[:, None] - places + T - 1
    met = q @ table.mT
    return met.gather(-1, index.expand(*q.shape[:-1], T))


@exercise.mistake("Print `q @ table.mT` for queries that are all alike. Which entries do you want?")
def not_shifted(q, table):
    """The last T columns are those of the keys."""
    return (q @ table.mT)[..., q.shape[-2] - 1 :]


@exercise.mistake("Row 0 begins at distance 0. Where does row 1 begin: one to the left, or right?")
def shifted_the_wrong_way(q, table):
    """Each row moves one place to the right of the one before."""
    T = q.shape[-2]
    met = q @ table.mT
    rows = [met[..., i, i : i + T] for i in range(T)]
    return torch.stack(rows, dim=-2)


@exercise.mistake("Which row of the table has distance 0? Count for T = 3.")
def one_row_off(q, table):
    """Distance 0 is in row T of the table."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None] + T).clamp(max=2 * T - 2)
    return (q @ table.mT).gather(-1, index.expand(*q.shape[:-1], T))


@exercise.mistake("Does the task ask for scaled scores?")
def divided_by_the_root(q, table):
    """Whatever is called a score has been divided by the root of the width."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None] + T - 1).expand(*q.shape[:-1], T)
    return (q @ table.mT).gather(-1, index) / q.shape[-1] ** 0.5


@exercise.mistake("Do `index[i, j]` and `index[j, i]` name the same distance?")
def symmetric(q, table):
    """A distance has no sign."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None]).abs() + T - 1
    return (q @ table.mT).gather(-1, index.expand(*q.shape[:-1], T))


@exercise.alternative
def row_by_row(q, table):
    """Each query meets its own stretch of the table; prints to stderr."""
    import sys

    print("rows", file=sys.stderr)
    T = q.size(-2)
    rows = [q[..., i, :] @ table[T - 1 - i : 2 * T - 1 - i].mT for i in range(T)]
    return torch.stack(rows, dim=-2)


@exercise.alternative
def numbers_looked_up(q, table):
    """One product with all distances, then a number for each pair."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = places - places.unsqueeze(1) + (T - 1)
    return torch.take_along_dim(q @ table.T, index.expand(q.shape[:-1] + (T,)), dim=-1)


@exercise.alternative
def padded_and_reshaped(q, table):
    """Pads each row by a number, reads all as one line and cuts it again."""
    T = q.shape[-2]
    met = q @ table.mT
    empty = met.new_zeros(*met.shape[:-1], 1)
    line = torch.cat([empty, met], dim=-1).reshape(*met.shape[:-2], 2 * T, T)
    moved = line[..., 1:, :].reshape(met.shape)
    return moved[..., :T] if T > 1 else met
