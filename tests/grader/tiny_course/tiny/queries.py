"""What the course teaches."""


def inner_join(left, right):
    """Pair rows of two tables by their first column."""
    return [(key, a, b) for key, a in left for other, b in right if key == other]
