from course_lib.bank.favit.group_costs import exercise
from course_lib.bank.prelude import F, torch
from course_lib.favit import factorised_cost, window_cost


@exercise.answer
def reference(
    rows: int, columns: int, d_model: int, reduction: int, window: int = 7
) -> tuple[int, int, int, int]:
    """The library's counts."""
    cost = factorised_cost(rows, columns, d_model, reduction, window)
    within = window_cost(rows, columns, d_model, window)
    return cost.reduced, cost.local, cost.dilated, within


@exercise.mistake("A stride of r leaves one row in r. And of the columns?")
def shrinks_once(rows, columns, d_model, reduction, window=7):
    """A stride of r leaves one token in r."""
    n = rows * columns
    c, d = (d_model // 8, d_model // 8 * 7) if reduction == 1 else (d_model // 8, d_model // 16 * 7)
    each = 2 * n * window**2
    last = 0 if reduction == 1 else each * d
    return 2 * n * (n // reduction) * c, each * d, last, each * d_model


@exercise.mistake("Is a kernel that hangs over the edge computed?")
def rounds_up(rows, columns, d_model, reduction, window=7):
    """Every token of the map is in the reduced one."""
    n = rows * columns
    c, d = (d_model // 8, d_model // 8 * 7) if reduction == 1 else (d_model // 8, d_model // 16 * 7)
    each = 2 * n * window**2
    last = 0 if reduction == 1 else each * d
    reduced = -(-rows // reduction) * -(-columns // reduction)
    return 2 * n * reduced * c, each * d, last, each * d_model


@exercise.mistake("Which group would see the same as another when the dilation is 1?")
def always_three(rows, columns, d_model, reduction, window=7):
    """There are three groups in every stage."""
    n = rows * columns
    each = 2 * n * window**2
    reduced = (rows // reduction) * (columns // reduction)
    part = d_model * 7 // 16
    return 2 * n * reduced * (d_model // 8), each * part, each * part, each * d_model


@exercise.mistake("Scores take a product of each pair. What else does?")
def scores_alone(rows, columns, d_model, reduction, window=7):
    """What attention costs are its scores."""
    n = rows * columns
    c, d = (d_model // 8, d_model // 8 * 7) if reduction == 1 else (d_model // 8, d_model // 16 * 7)
    each = n * window**2
    last = 0 if reduction == 1 else each * d
    return n * (rows // reduction) * (columns // reduction) * c, each * d, last, each * d_model


@exercise.mistake("How many channels of the model does each group have?")
def full_width(rows, columns, d_model, reduction, window=7):
    """Every group works on the whole width."""
    each = 2 * rows * columns * d_model
    reduced = (rows // reduction) * (columns // reduction)
    last = 0 if reduction == 1 else each * window**2
    return each * reduced, each * window**2, last, each * window**2


@exercise.mistake("Fusing gives one window. What stays of the number of windows?")
def windows_not_fused(rows, columns, d_model, reduction, window=7):
    """A query of the local group attends to the tokens of all windows."""
    n = rows * columns
    c, d = (d_model // 8, d_model // 8 * 7) if reduction == 1 else (d_model // 8, d_model // 16 * 7)
    reduced = (rows // reduction) * (columns // reduction)
    each = 2 * n * window**2
    last = 0 if reduction == 1 else each * d
    return 2 * n * reduced * c, 2 * n * n * d, last, each * d_model


@exercise.mistake("On a map of twice the side, is the reduced one still a window?")
def three_windows(rows, columns, d_model, reduction, window=7):
    """All groups have as many keys as a window has tokens."""
    c, d = (d_model // 8, d_model // 8 * 7) if reduction == 1 else (d_model // 8, d_model // 16 * 7)
    each = 2 * rows * columns * window**2
    return each * c, each * d, 0 if reduction == 1 else each * d, each * d_model


@exercise.alternative
def by_key_counts(rows, columns, d_model, reduction, window=7):
    """A table of keys and shares."""
    groups = [(rows // reduction * (columns // reduction), 2), (window * window, 7)]
    groups.append((window * window, 7 if reduction > 1 else 0))
    total = 9 - 1 if reduction == 1 else 16
    if reduction == 1:
        groups[0] = (rows * columns, 1)
    counts = [2 * rows * columns * keys * d_model * share // total for keys, share in groups]
    return (*counts, 2 * rows * columns * d_model * window * window)


@exercise.alternative
def by_counting_operations(rows, columns, d_model, reduction, window=7):
    """Runs the products on tensors without numbers, and counts them; warns."""
    import warnings

    from torch.utils.flop_counter import FlopCounterMode

    warnings.warn("counted", stacklevel=1)

    def count(n_keys, width):
        if not width:
            return 0
        q = torch.empty(rows * columns, width, device="meta")
        k = torch.empty(n_keys, width, device="meta")
        with FlopCounterMode(display=False) as counter:
            q @ k.T @ k
        return counter.get_total_flops() // 2

    if reduction == 1:
        widths = [d_model // 8, d_model - d_model // 8, 0]
    else:
        widths = [d_model // 8, (d_model - d_model // 8) // 2, (d_model - d_model // 8) // 2]
    map_ = torch.empty(1, 1, rows, columns, device="meta")
    shrunk = F.max_pool2d(map_, reduction).numel()
    keys = [shrunk, window**2, window**2]
    counts = [count(n, width) for n, width in zip(keys, widths, strict=True)]
    return counts[0], counts[1], counts[2], count(window**2, d_model)
