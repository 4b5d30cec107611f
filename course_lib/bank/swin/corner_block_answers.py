from collections.abc import Sequence

from course_lib.bank.prelude import torch
from course_lib.bank.swin.corner_block import exercise
from course_lib.swin import grid_connections, window_layout


@exercise.answer
def reference(side: int, window: int, shift: int, depths: Sequence[int]) -> int:
    """Follow, along one axis, all that depends on the first token."""
    heard = torch.arange(side) == 0
    number = 0
    for depth in depths:
        for block in range(depth):
            number += 1
            # On a map that is one window nothing moves, however it was asked for.
            layout = window_layout(1, len(heard), window, shift if block % 2 else 0)
            heard = (grid_connections(layout) & heard).any(dim=-1)
            if heard[-1]:
                return number
        heard = heard.view(-1, 2).any(dim=-1) if len(heard) % 2 == 0 else heard
    return 0


@exercise.mistake("Two still windows side by side: who tells the other? And with a moved layer?")
def a_window_a_block(side, window, shift, depths):
    """Each block brings the information a window further."""
    reach, number = 0, 0
    for depth in depths:
        for _ in range(depth):
            number += 1
            reach += window - 1
            if reach >= side - 1:
                return number
        reach, side = reach // 2, side // 2
    return 0


@exercise.mistake("Token 7 is reached, windows of 8 stand still, then move by 1. Who hears next,"
                  " and who after that?")  # fmt: skip
def adds_the_shift(side, window, shift, depths):
    """Once the first window is told, each moved block adds the shift."""
    reach, number = 0, 0
    for depth in depths:
        for block in range(depth):
            number += 1
            reach = max(reach, window - 1)
            if block % 2 and side > window:
                reach += shift
            if reach >= side - 1:
                return number
        reach, side = reach // 2, side // 2
    return 0


@exercise.mistake("Which pairs does the mask of a moved layer forbid?")
def round_the_edge(side, window, shift, depths):
    """In moved windows both ends of the image meet."""
    reach, number = 0, 0
    for depth in depths:
        for block in range(depth):
            number += 1
            if side <= window or (block % 2 and shift):
                return number
            reach = reach // window * window + window - 1
            if reach >= side - 1:
                return number
        reach, side = reach // 2, side // 2
    return 0


@exercise.mistake("Which come first in every stage of a Swin: windows that stay or that move?")
def alternates_throughout(side, window, shift, depths):
    """Still and moved blocks take turns through the whole model."""
    reach, number = 0, 0
    for depth in depths:
        for _ in range(depth):
            number += 1
            s = shift if number % 2 == 0 and side > window else 0
            reach = min(side - 1, (reach - s) // window * window + window - 1 + s)
            if reach >= side - 1:
                return number
        reach, side = reach // 2, side // 2
    return 0


@exercise.mistake("How many tokens are left in a row after a merge, and where is the one that was"
                  " reached?")  # fmt: skip
def never_merges(side, window, shift, depths):
    """Stages are just more blocks."""
    reach = 0
    for number in range(1, sum(depths) + 1):
        s = shift if number % 2 == 0 and side > window else 0
        reach = min(side - 1, (reach - s) // window * window + window - 1 + s)
        if reach >= side - 1:
            return number
    return 0


@exercise.mistake("When the map is halved, does the window keep its tokens or its pixels?")
def windows_shrink_too(side, window, shift, depths):
    """A window covers the same part of the image in every stage."""
    reach, number = 0, 0
    for depth in depths:
        for block in range(depth):
            number += 1
            s = shift if block % 2 and side > window else 0
            reach = min(side - 1, (reach - s) // window * window + window - 1 + s)
            if reach >= side - 1:
                return number
        reach, side, window, shift = reach // 2, side // 2, max(window // 2, 1), shift // 2
    return 0


@exercise.mistake("Two windows that never move: does information get from one to the other?")
def still_windows_leak(side, window, shift, depths):
    """Enough blocks connect everything, moved or not."""
    number, shift = 0, max(shift, 1)
    reach = 0
    for depth in depths:
        for block in range(depth):
            number += 1
            s = shift if block % 2 and side > window else 0
            reach = min(side - 1, (reach - s) // window * window + window - 1 + s)
            if reach >= side - 1:
                return number
        reach, side = reach // 2, side // 2
    return 0


@exercise.alternative
def all_that_heard(side, window, shift, depths):
    """Keeps the set of tokens that have heard, and asks each for its window; warns."""
    import warnings

    warnings.warn("sets", stacklevel=1)
    heard, number = {0}, 0
    for depth in depths:
        for block in range(depth):
            number += 1
            s = 0 if side <= window or block % 2 == 0 else shift
            told = {(token - s) // window for token in heard}
            heard = {token for token in range(side) if (token - s) // window in told}
            if side - 1 in heard:
                return number
        heard, side = {token // 2 for token in heard}, side // 2
    return 0


@exercise.alternative
def powers_of_masks(side, window, shift, depths):
    """Multiplies boolean matrices, one a block, with the merge as a matrix, too."""
    reached = torch.eye(side)[:, :1]
    number = 0
    for depth in depths:
        place = torch.arange(len(reached))
        for block in range(depth):
            number += 1
            moved = shift if block % 2 == 1 and len(place) > window else 0
            home = torch.div(place - moved, window, rounding_mode="floor")
            reached = ((home[:, None] == home).float() @ reached).clamp(max=1)
            if reached[-1, 0] > 0:
                return number
        merge = (place // 2 == torch.arange(len(place) // 2)[:, None]).float()
        reached = (merge @ reached).clamp(max=1)
    return 0
