"""Patches and the places that they get, when tokens are shuffled in two ways."""

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import pixels
from course_lib.drawings.space import PATCHES, TOWER

ORDER = (2, 0, 1)
HERE = (0, 1, 2)
WAYS = {"nothing moves": (HERE, HERE), "both move": (ORDER, ORDER), "patches move": (ORDER, HERE)}


def placed(way: str) -> dict[int, int]:
    """Patch at each place; what the model can know of the image."""
    return dict(sorted(zip(WAYS[way][1], WAYS[way][0], strict=True)))


@drawing(
    """Three patches of a lighthouse, its top, middle and foot, as a sequence of tokens. Each token
    is a patch plus the position of a place. If nothing moves, top, middle and foot have the
    places 0, 1 and 2, and the tokens describe the lighthouse. If patches and positions move alike,
    the tokens come in another order, but each patch keeps its place, so they describe the same
    lighthouse. If the patches move and the positions stay, the foot gets the place of the top, and
    the tokens describe another image."""
)
def shuffled_tokens(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, (patches, places) in WAYS.items():
        tokens = p.row(
            *(
                p.column(
                    p.pixels(pixels(PATCHES[TOWER[patch]]), 7),
                    p.text("+"),
                    p.cells([[place]], "position", w=28, h=22),
                    gap=1,
                )
                for patch, place in zip(patches, places, strict=True)
            ),
            gap=10,
        )
        picture = p.column(
            *(p.pixels(pixels(PATCHES[TOWER[patch]]), 7) for patch in placed(name).values()), gap=0
        )
        p.named(tokens, "", "tokens", at="below")
        p.named(picture, "", "image", at="below")
        p.link(tokens, picture)
        panels.append((name, p.row(tokens, picture, gap=p.of(26, 60))))
    p.done(p.panels(*panels))
