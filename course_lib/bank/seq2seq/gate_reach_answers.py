from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.bank.seq2seq.gate_reach import exercise


@exercise.answer
def reference(bias: Tensor, distance: int, share: float) -> tuple[Tensor, Tensor]:
    """What gates of these biases let through, and how far they let a share through."""
    log_gate = F.logsigmoid(bias.double())
    # A share that is left exactly is left, whichever way its logarithm is rounded.
    return (distance * log_gate).exp(), (math.log(share) / log_gate + 1e-9).floor().long()


@exercise.mistake("The cell is added to, yes. What is it multiplied by at each step, though?")
def lstm_never_vanishes(bias, distance, share):
    """The cell is only ever added to, so a gradient passes it whole, however far."""
    passed = torch.ones(bias.shape, dtype=torch.float64)
    return passed, torch.full(bias.shape, torch.iinfo(torch.long).max)


@exercise.mistake("Does a step add what it lets through, or is there less after each step?")
def cell_sums_gradients(bias, distance, share):
    """Every step adds its share of the gradient, so more arrives from further back."""
    gate = bias.double().sigmoid()
    return distance * gate, torch.ceil(share / gate).long()


@exercise.mistake("What does a wide open forget gate do: forget, or keep? The name misleads.")
def forgets_when_open(bias, distance, share):
    """An open forget gate forgets, so 1 minus the gate is what stays."""
    log_gate = F.logsigmoid(-bias.double())
    return (distance * log_gate).exp(), (math.log(share) / log_gate).floor().long()


@exercise.mistake("A gate that lets 0.9 through: what is left after two steps, 0.8 or 0.81?")
def linear_loss(bias, distance, share):
    """Each step loses the same amount."""
    lost = (-bias.double()).sigmoid()
    return (1 - distance * lost).clamp(min=0), ((1 - share) / lost).floor().long()


@exercise.mistake("After as many steps as you say, is the share still there? Multiply it out once.")
def first_step_below(bias, distance, share):
    """The reach is the step at which the share is first missed."""
    log_gate = F.logsigmoid(bias.double())
    return (distance * log_gate).exp(), (math.log(share) / log_gate).ceil().long()


@exercise.mistake("Print the sigmoid of 18 in single precision. And its logarithm?")
def single_precision(bias, distance, share):
    """The logarithm of a gate is best computed from the gate."""
    gate = bias.sigmoid()
    steps = (math.log(share) / gate.log().clamp(max=-1e-30)).floor()
    return (gate**distance).double(), steps.clamp(max=1e18).long()


@exercise.mistake("Ask for half of the gradient, and for a hundredth: is it the same distance?")
def time_constant(bias, distance, share):
    """A gate remembers for 1 / (1 - gate) steps, whatever is asked of it."""
    log_gate = F.logsigmoid(bias.double())
    return (distance * log_gate).exp(), (1 / (-bias.double()).sigmoid()).floor().long()


@exercise.alternative
def by_bisection(bias, distance, share):
    """Searches for the last good number of steps, gate by gate, in plain Python."""
    passed, reach = [], []
    for b in bias.tolist():
        cost = math.log1p(math.exp(-b))
        passed.append(math.exp(-cost * distance))
        low, high = 0, 1
        while math.exp(-cost * high) >= share:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if math.exp(-cost * middle) >= share else (low, middle)
        reach.append(low)
    return torch.tensor(passed, dtype=torch.float64), torch.tensor(reach)


@exercise.alternative
def softplus(bias, distance, share):
    """What a step costs is a softplus; counts in units of it, and says so on stderr."""
    import sys

    print("costs by softplus", file=sys.stderr)
    cost = torch.log1p(torch.exp(-bias.to(torch.float64)))
    allowed = -math.log(share)
    return torch.exp(-cost * distance), torch.div(allowed, cost, rounding_mode="trunc").to(
        torch.int64
    )
