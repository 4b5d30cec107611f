from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.seq2seq.state_jacobians import exercise


@exercise.answer
def reference(states: Tensor, weight_hh: Tensor) -> Tensor:
    """How the last state of a tanh network depends on each state before it."""
    rows = [torch.eye(states.shape[1], dtype=states.dtype)]
    for h in states[1:].flip(0):
        rows.append(rows[-1] @ ((1 - h**2)[:, None] * weight_hh))
    return torch.stack(rows[::-1])


def right(states, weight_hh):
    """Base of the mistakes, itself right."""
    rows = [torch.eye(states.shape[1], dtype=states.dtype)]
    for h in states[1:].flip(0):
        slope = (1 - h**2)[:, None]
        rows.append(rows[-1] @ (slope * weight_hh))
    return torch.stack(rows[::-1])


@exercise.mistake("Is ∂h_3/∂h_1 = (∂h_3/∂h_2)(∂h_2/∂h_1), or the other way round?")
@changed(right, ("rows[-1] @ (slope * weight_hh)", "(slope * weight_hh) @ rows[-1]"))
def from_left_to_right():
    """Factors are multiplied in the order in which the words are read."""


@exercise.mistake("Rows of a Jacobian belong to what is differentiated. Which index of U is that?")
@changed(right, ("* weight_hh)", "* weight_hh.T)"))
def turned_matrix():
    """A gradient goes back through the transposed matrix, so a Jacobian has it, too."""


@exercise.mistake("Which of a step's two states is a value of that step's tanh?")
@changed(right, ("1:].flip", ":-1].flip"))
def slope_of_the_old_state():
    """The slope of a step is that of the state from which it starts."""


@exercise.mistake("Does the slope belong to an entry of h' or to one of h? Scale rows or columns?")
@changed(right, ("[:, None]", ""))
def slope_on_the_right():
    """A diagonal matrix may be on either side of U."""


@exercise.mistake("Is tanh a straight line? What is its slope far from 0?")
@changed(right, ("(slope * weight_hh)", "weight_hh"))
def powers_of_the_matrix():
    """Only the matrix matters: k steps back the gradient is U to the power of k."""


@exercise.mistake("What is the slope of tanh at 0.5, and what at -0.5? It must be the same.")
@changed(right, ("1 - h**2", "1 - h"))
def wrong_slope():
    """The slope of tanh is 1 - tanh, by analogy with the sigmoid."""


@exercise.mistake("How many factors lie between the last state and itself?")
def one_factor_too_many(states, weight_hh):
    """Every state, the last one too, contributes its own factor."""
    rows = []
    product = torch.eye(states.shape[1], dtype=states.dtype)
    for h in states.flip(0):
        product = product @ ((1 - h**2)[:, None] * weight_hh)
        rows.append(product)
    return torch.stack(rows[::-1])


@exercise.mistake("Does a step back add something to the gradient, or does it multiply it?")
@changed(right, ("rows[-1] @", "rows[-1] +"))
def sum_of_factors():
    """Every step contributes to the gradient, so the factors are added."""


@exercise.alternative
def afresh_for_each(states, weight_hh):
    """The whole product again for each state, with matrices made by diag; warns."""
    import warnings

    warnings.warn("quadratic in the number of states", stacklevel=1)
    T, D = states.shape
    found = torch.zeros(T, D, D, dtype=states.dtype)
    for s in range(T):
        product = torch.eye(D).to(states)
        for u in range(s + 1, T):
            product = torch.diag(1 - states[u] * states[u]) @ weight_hh @ product
        found[s] = product
    return found


@exercise.alternative
def forwards(states, weight_hh):
    """Pushes small changes of every state forwards, all at once."""
    T, D = states.shape
    change = torch.zeros(T, D, D, dtype=states.dtype)
    for s, h in enumerate(states):
        slope = (1 - h) * (1 + h)
        change[:s] = torch.einsum("i,ij,sjk->sik", slope, weight_hh, change[:s])
        change[s].fill_diagonal_(1)
    return change


@exercise.alternative
def unit_by_unit(states, weight_hh):
    """Sends one unit of the last state back at a time, as backpropagation would."""
    columns = []
    for unit in torch.eye(states.shape[1], dtype=states.dtype):
        path = [unit]
        for h in reversed(states[1:].unbind(0)):
            path.insert(0, weight_hh.mT @ (path[0] * (1 - h.square())))
        columns.append(torch.stack(path))
    return torch.stack(columns, dim=1)
