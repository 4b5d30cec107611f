"""Telling attention where a token stands."""

from course_lib.positions.rotary import (
    Layout,
    Rotary,
    convert_rotary_layout,
    rotary_angles,
    rotary_frequencies,
    rotate,
    rotate_by_table,
    rotation_table,
)
from course_lib.positions.sinusoidal import sinusoidal_encoding, sinusoidal_positions
from course_lib.positions.spatial import spatial_positions
from course_lib.positions.tables import ComputedTables
from course_lib.positions.window import WindowBias, window_index

__all__ = [
    "ComputedTables",
    "Layout",
    "Rotary",
    "WindowBias",
    "convert_rotary_layout",
    "rotary_angles",
    "rotary_frequencies",
    "rotate",
    "rotate_by_table",
    "rotation_table",
    "sinusoidal_encoding",
    "sinusoidal_positions",
    "spatial_positions",
    "window_index",
]
