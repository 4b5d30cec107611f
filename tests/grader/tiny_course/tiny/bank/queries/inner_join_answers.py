from tiny.bank.queries.inner_join import exercise
from tiny.queries import inner_join

reference = exercise.answer(inner_join)


@exercise.mistake("Can a row of the left table have more than one partner?")
def first_partner(left, right):
    """Every row has one partner, the first one."""
    found = []
    for key, a in left:
        for other, b in right:
            if key == other:
                found.append((key, a, b))
                break
    return found


@exercise.mistake("Which kind of join keeps a row without a partner?")
def outer(left, right):
    """A row without a partner stays, with nothing beside it."""
    found = []
    for key, a in left:
        partners = [b for other, b in right if key == other]
        found += [(key, a, b) for b in partners or [None]]
    return found


@exercise.mistake("Which of the two tables is gone through first?")
def by_the_right(left, right):
    """The right table decides about the order."""
    return [(key, a, b) for other, b in right for key, a in left if key == other]


@exercise.alternative
def indexed(left, right):
    """An index of the right table is made first."""
    index = {}
    for key, b in right:
        index.setdefault(key, []).append(b)
    return [(key, a, b) for key, a in left for b in index.get(key, ())]
