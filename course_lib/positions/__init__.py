"""Telling attention where a token stands."""

from course_lib.positions.sinusoidal import sinusoidal_encoding, sinusoidal_positions
from course_lib.positions.spatial import spatial_positions
from course_lib.positions.window import WindowBias, window_index

__all__ = [
    "WindowBias",
    "sinusoidal_encoding",
    "sinusoidal_positions",
    "spatial_positions",
    "window_index",
]
