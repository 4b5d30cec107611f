from course_lib.bank.seeing.break_distance import by_rows, exercise, from_zero, patch_distance


@exercise.answer
def reference() -> tuple[int, int, int, int]:
    """Two rows of three, and two patches on a diagonal."""
    return 2, 3, 2, 6


@exercise.mistake("How do rows and columns of your grid differ?")
def square():
    """A mix-up of rows and columns shows on any grid."""
    return 4, 4, 2, 8


@exercise.mistake("Move both patches on by one. Does either of them change its row?")
def no_line_break():
    """A shift of all numbers by one changes all distances."""
    return 2, 3, 1, 4


@exercise.mistake("In a single line, which distance can `by_rows` get wrong?")
def one_line():
    """In a single row there is most to be mixed up."""
    return 1, 6, 1, 4


@exercise.mistake("What is the distance of a patch to itself, whatever its place?")
def same_patch():
    """One patch at the edge is enough."""
    return 2, 3, 3, 3


@exercise.mistake("Which rows and columns of your grid could you leave out?")
def real_grid():
    """The test has to have the size of a real image."""
    return 7, 14, 13, 28


@exercise.mistake("Could you do without a row, or a column?")
def three_by_four():
    """Two different sides, neither of them 2, are the least."""
    return 3, 4, 4, 9


@exercise.alternative
def searches():
    """Tries small grids with the given functions, and prints to stderr."""
    import sys

    for n in range(1, 20):
        for rows in (r for r in range(1, n + 1) if n % r == 0):
            for query in range(1, n + 1):
                for key in range(query, n + 1):
                    found = rows, n // rows, query, key
                    right = patch_distance(*found)
                    if right != by_rows(*found) and right != from_zero(*found):
                        print("found", found, file=sys.stderr)
                        return found


@exercise.alternative
def three_rows():
    """A high grid, as a list."""
    return [3, 2, 2, 5]
