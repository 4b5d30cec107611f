"""Telling attention where a token stands."""

from course_lib.positions.sinusoidal import sinusoidal_encoding, sinusoidal_positions
from course_lib.positions.spatial import spatial_positions

__all__ = ["sinusoidal_encoding", "sinusoidal_positions", "spatial_positions"]
