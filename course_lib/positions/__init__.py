"""Telling attention where a token stands."""

from course_lib.positions.alibi import Alibi, alibi_bias, alibi_slopes
from course_lib.positions.delta import literal_delta_value
from course_lib.positions.heads import HeadProjections
from course_lib.positions.learned import (
    LearnedPositions,
    resample_grid,
    stretch_grid,
    stretch_places,
    stretch_weights,
)
from course_lib.positions.legendre import LegendrePE, legendre_polynomials, legendre_positions
from course_lib.positions.multimodal import (
    MultimodalRotary,
    multimodal_positions,
    next_position,
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    section_axes,
)
from course_lib.positions.relative import (
    RelativeBias,
    relative_distance,
    relative_shift,
    spread_diagonals,
    t5_bucket,
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
from course_lib.positions.scans import Scan, inverse_order, scan_order
from course_lib.positions.sinusoidal import (
    binary_code,
    code_similarity,
    integer_code,
    ratio_code,
    shift_matrix,
    sine_code,
    sinusoidal_encoding,
    sinusoidal_positions,
    wavelengths,
)
from course_lib.positions.spatial import spatial_positions, summed_positions
from course_lib.positions.tables import ComputedTables, keep_in_step, without_autocast
from course_lib.positions.terms import (
    TERMS,
    FourTermAttention,
    four_terms,
    join_terms,
)
from course_lib.positions.window import WindowBias, window_index
