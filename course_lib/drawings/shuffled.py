"""Which patch is told which place, when tokens are shuffled in two ways."""

from course_lib.drawings import Sketch, drawing
from course_lib.drawings.rows import pixels
from course_lib.drawings.space import PATCHES, SIDE, TOWER

ORDER = (2, 0, 1)
HERE = (0, 1, 2)
WAYS = {
    "nothing moves": (HERE, HERE),
    "both move": (ORDER, ORDER),
    "patches move": (ORDER, HERE),
}


def told(way: str) -> dict[int, int]:
    """For each place the patch that is told it; what the model can know of the picture."""
    return dict(sorted(zip(WAYS[way][1], WAYS[way][0], strict=True)))


@drawing(
    """Three patches of a lighthouse, its top, middle and foot, as a sequence of tokens. Each token
    is a patch plus the position of a place. If nothing moves, top, middle and foot are told the
    places 0, 1 and 2, and the model is told the lighthouse. If patches and positions move alike,
    the tokens come in another order, but each patch is told the place that it had, so the model is
    told the same lighthouse. If the patches move and the positions stay, the foot is told the place
    of the top, and the model is told another picture."""
)
def shuffled_tokens(s: Sketch) -> None:
    """Two shuffles: one changes the order of the tokens, the other changes the picture."""
    dot = 7.0
    side, pitch = SIDE * dot, SIDE * dot + 12
    for panel, name in zip(s.panels(WAYS, 142, gap=10), WAYS, strict=True):
        patches, places = WAYS[name]
        left, y = panel.x + (40 if s.narrow else 14), panel.y
        for i, (patch, place) in enumerate(zip(patches, places, strict=True)):
            at = left + pitch * i
            picture = s.pixels(at, y + 38, pixels(PATCHES[TOWER[patch]]), dot)
            s.text(picture.cx, picture.bottom + 9, "+")
            s.cells(at, picture.bottom + 18, [[place]], "position", w=side, h=22)
        s.text(left + pitch + side / 2, y + 128, "tokens", kind="small quiet")
        right = panel.right - (74 if s.narrow else 44)
        for place, patch in told(name).items():
            s.pixels(right, y + 32 + place * side, pixels(PATCHES[TOWER[patch]]), dot)
        middle = y + 32 + 1.5 * side
        s.arrow((left + 2 * pitch + side + 6, middle), (right - 4, middle))
        s.text(right + side / 2, y + 128, "picture", kind="small quiet")
