"""Telling attention where a token stands."""

from course_lib.positions.multimodal import (
    MultimodalRotary,
    multimodal_positions,
    next_position,
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    section_axes,
)
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
from course_lib.positions.rotary_2d import (
    AxialRotary,
    MixedRotary,
    axial_angles,
    mixed_angles,
    mixed_frequencies,
)
from course_lib.positions.sinusoidal import sinusoidal_encoding, sinusoidal_positions
from course_lib.positions.spatial import spatial_positions, summed_positions
from course_lib.positions.tables import ComputedTables
from course_lib.positions.window import WindowBias, window_index

__all__ = [
    "AxialRotary",
    "ComputedTables",
    "Layout",
    "MixedRotary",
    "MultimodalRotary",
    "Rotary",
    "WindowBias",
    "axial_angles",
    "convert_rotary_layout",
    "mixed_angles",
    "mixed_frequencies",
    "multimodal_positions",
    "next_position",
    "qwen2_vl_rotary",
    "qwen3_vl_rotary",
    "rotary_angles",
    "rotary_frequencies",
    "rotate",
    "rotate_by_table",
    "rotation_table",
    "section_axes",
    "sinusoidal_encoding",
    "sinusoidal_positions",
    "spatial_positions",
    "summed_positions",
    "window_index",
]
